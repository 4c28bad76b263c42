import { DurableObject } from "cloudflare:workers";
import { hashOf } from "../src/core/hash.ts";
import { QueueObject as Queue } from "../src/objects/queue/queue-object.ts";
import type { GrantAnswer, GrantedPlace } from "../src/objects/queue/queue-row.ts";
import { env } from "../src/startup.ts";

export * from "./startup/bare-worker.ts";

interface Bindings {
  readonly CALLS: DurableObjectNamespace<CallObject>;
  readonly QUEUES: DurableObjectNamespace<QueueObject>;
}

/** Objects of calls: all submissions share these, because the real ones exist before they get a place. */
const CALL_OBJECTS = 100;

export class QueueObject extends Queue {
  constructor(ctx: DurableObjectState, { CALLS }: Bindings) {
    const shared = (id: string) => CALLS.getByName(String(hashOf(id) % CALL_OBJECTS));
    const getByName = (id: string) => ({
      grant: (place: GrantedPlace) => shared(id).take(id, place),
    });
    super(ctx, Object.create(env, { CALLS: { value: { getByName } } }));
  }
}

/** Object of calls, whose jobs end as soon as they have got a place, unless the connection is called `kept`. */
export class CallObject extends DurableObject<Bindings> {
  take(id: string, { connection }: GrantedPlace): GrantAnswer {
    if (connection !== "kept") this.ctx.waitUntil(this.env.QUEUES.getByName(connection).leave(id));
    return "taken";
  }
}

/**
 * Worker that asks for places of a connection, lets submissions leave, or waits until the queue is empty. Submissions
 * have numbers; each has an account, of which there are as many as `accounts` says.
 */
export default {
  async fetch(request: Request, { QUEUES }: Bindings): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const number = (name: string, missing: number) => Number(searchParams.get(name) ?? missing);
    const via = searchParams.get("connection") ?? "kept";
    const queue = QUEUES.getByName(via);
    const [from, count] = [number("from", 0), number("count", 0)];
    const acts: Readonly<Record<string, (index: number) => Promise<unknown>>> = {
      "/ask": async (index) => {
        const ids = { submissionId: idOf(index), taskId: `task-${index}-0123456789` };
        const account = `account-${index % number("accounts", 1)}`;
        await queue.ask({ ...ids, account, via, attempt: 1, since: Date.now(), mayWait: true });
      },
      "/leave": async (index) => queue.leave(idOf(index)),
      // The first ones leave, and the end of each job lets the next one in.
      "/drain": async (index) => queue.leave(idOf(index)),
      "/position": async (index) => queue.position(idOf(index)),
    };
    const act = acts[pathname];
    if (act !== undefined) await repeat(act, from, count, number("concurrency", 1));
    if (pathname === "/drain") {
      while ((await queue.state()).held > 0) await scheduler.wait(10);
    }
    return Response.json(pathname === "/healthz" ? {} : await queue.state());
  },
};

const idOf = (index: number) => `submission-${index}-abcdefgh`;

/** Does something for each number from `from` on, a limited number at a time. */
async function repeat(
  act: (index: number) => Promise<unknown>,
  from: number,
  count: number,
  concurrency: number,
): Promise<void> {
  let next = from;
  const work = async () => {
    while (next < from + count) await act(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
