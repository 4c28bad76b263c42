import { DurableObject } from "cloudflare:workers";

interface Event {
  readonly id: string;
  readonly callback_url: string;
}

interface TaskRecord {
  readonly event: Event;
  readonly state: "in_flight" | "delivered" | "failed";
}

interface Bindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/**
 * Delay of the watchdog alarm in milliseconds, longer than any run: setting the alarm costs a write, but the
 * alarm never fires.
 */
const WATCHDOG_MS = 3_600_000;
const KEY = "task";

/**
 * Durable Object that does the minimum for a durable callback: it stores a record and a watchdog alarm before
 * the answer, sends one POST, and stores the outcome.
 */
export class TaskObject extends DurableObject {
  accept(event: Event): string {
    this.ctx.storage.kv.put(KEY, { event, state: "in_flight" } satisfies TaskRecord);
    void this.ctx.storage.setAlarm(Date.now() + WATCHDOG_MS);
    this.ctx.waitUntil(this.#send(event));
    return event.id;
  }

  read(): TaskRecord | undefined {
    return this.ctx.storage.kv.get<TaskRecord>(KEY);
  }

  override async alarm(): Promise<void> {
    const record = this.read();
    if (record?.state === "in_flight") await this.#send(record.event);
  }

  async #send(event: Event): Promise<void> {
    const response = await fetch(event.callback_url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(event),
    });
    await response.body?.cancel();
    const state = response.ok ? "delivered" : "failed";
    this.ctx.storage.kv.put(KEY, { event, state } satisfies TaskRecord);
  }
}

// Classes that the harness binds too; nothing calls their objects.
export class AccountObject extends DurableObject {}
export class ListenersObject extends DurableObject {}
export class ConnectionObject extends DurableObject {}
export class HostObject extends DurableObject {}
export class DigestObject extends DurableObject {}
export class DeploymentObject extends DurableObject {}
export class OutputObject extends DurableObject {}
export class JobObject extends DurableObject {}
export class CallObject extends DurableObject {}
export class QueueObject extends DurableObject {}
export class OfferBookObject extends DurableObject {}

/**
 * Worker that passes a POST on to the object of its task, and answers a GET of `/{id}` with the stored record.
 */
export default {
  async fetch(request: Request, { TASKS }: Bindings): Promise<Response> {
    if (request.method === "POST") {
      const event = await request.json<Event>();
      const id = await TASKS.getByName(event.id).accept(event);
      return Response.json({ id }, { status: 202 });
    }
    const id = new URL(request.url).pathname.slice(1);
    if (id === "healthz") return new Response();
    const record = await TASKS.getByName(id).read();
    return record === undefined ? new Response(null, { status: 404 }) : Response.json(record);
  },
};
