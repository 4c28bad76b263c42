import * as z from "zod/mini";
import relay from "../../../src/index.ts";
import { queueObject } from "../../../src/objects/object-names.ts";
import { taskObject } from "../../../src/objects/task/task-stub.ts";
import { env } from "../../../src/startup.ts";

export * from "../../../src/index.ts";

const OPERATOR = { kind: "operator", role: "all", key: "test" } as const;

const [FULL, WITHOUT_KEY] = ["ark-a", "ark-b"] as const;
/** Name of the pool of both connections. */
const POOL = "ark-all";

/** A job for the pool: the account that pays, and whether the other connection has refused it before. */
const QueuedJob = z.object({ account: z.string(), isRefused: z.boolean() });

/** Registers a task whose call waits, as a submission to a pool does, and asks for its place. */
async function enqueue(request: Request): Promise<Response> {
  const { account, isRefused } = QueuedJob.parse(await request.json());
  const [id, submissionId, since] = [crypto.randomUUID(), crypto.randomUUID(), Date.now()];
  const task = taskObject(env, id);
  const call = { isCall: true, isHookless: true, queues: [FULL, WITHOUT_KEY] } as const;
  await task.apply(
    {
      type: "register",
      id,
      model: "seedance",
      origin: "http://localhost",
      registration: {
        callbackUrl: null,
        provider: POOL,
        parameters: null,
        metadata: null,
        deadlineAt: null,
        accountId: account,
        credits: null,
      },
      job: null,
      deadlineMs: null,
      account: { id: account, generation: 1 },
      chargeId: null,
      submission: { id: submissionId, requestDigest: "digest", endpoint: null, ...call },
    },
    OPERATOR,
  );
  const order = { submissionId, taskId: id, account, via: POOL, since, mayWait: true };
  if (isRefused) {
    const attempt = { submissionId, attempt: 1 };
    const queue = queueObject(env, WITHOUT_KEY);
    await queue.ask({ ...order, attempt: 1 });
    await task.startCall({ type: "call_started", ...attempt, connection: WITHOUT_KEY });
    await queue.refuse({ ...attempt, refusal: "key", retryAfterMs: null });
    const refusal = { connection: WITHOUT_KEY, statusCode: 401, refusal: "key" } as const;
    await task.refuseCall({ type: "call_refused", ...attempt, ...refusal });
  }
  await queueObject(env, FULL).ask({ ...order, attempt: isRefused ? 2 : 1 });
  return Response.json({ id });
}

export default {
  ...relay,
  fetch: (request) =>
    new URL(request.url).pathname === "/queued-jobs" ? enqueue(request) : relay.fetch(request),
} satisfies ExportedHandler;
