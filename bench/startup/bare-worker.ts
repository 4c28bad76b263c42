import { DurableObject } from "cloudflare:workers";

interface Bindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Durable Object that stores one value. */
export class TaskObject extends DurableObject {
  register(task: unknown): void {
    this.ctx.storage.kv.put("task", task);
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

/** Worker that stores the body of a request in a new object: the least that a registration must do. */
export default {
  async fetch(request: Request, { TASKS }: Bindings): Promise<Response> {
    const id = crypto.randomUUID();
    await TASKS.getByName(id).register(await request.json());
    return Response.json({ id }, { status: 201 });
  },
};
