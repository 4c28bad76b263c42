import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach } from "vitest";
import { ORIGIN, OPERATOR_KEY, callWith } from "./client.ts";
import { restart } from "./objects.ts";
import { anOutside, answering, type Outside, type Site } from "./outside.ts";
import { BINDINGS, named, submit } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

/** Bindings of a relay that knows its address, with keys for the upstreams of the tests of calls about jobs. */
export const RELAY = {
  ...BINDINGS,
  PUBLIC_URL: ORIGIN,
  RUNWAY_API_KEY: "test-only-runway-key",
  LUMA_API_KEY: "test-only-luma-key",
};

/** A job that was submitted through the relay: where, with which body, and as whom. */
export interface SubmittedCall {
  /** Name of the connection. */
  readonly connection: string;
  /** Path of the submission below the base URL. */
  readonly path: string;
  readonly body: object;
  readonly bindings?: object;
  /** Key of the relay; the operator's by default. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Submits a job, and returns the id of its task. The server of the upstream must be in place. */
export async function aSubmittedTask(call: SubmittedCall): Promise<string> {
  const { connection, path, body, bindings = RELAY, key = OPERATOR_KEY } = call;
  const { id, headers } = named();
  const order = { "Idempotency-Key": crypto.randomUUID() };
  const own = key === OPERATOR_KEY ? headers : order;
  const response = await submit({
    path: `/v1/submit/${connection}${path}`,
    body: JSON.stringify(body),
    bindings,
    key,
    headers: { ...own, ...call.headers },
  });
  const taskId = response.headers.get("Relay-Task-Id") ?? id;
  if (!response.ok) throw new Error(`the submission was answered with ${response.status}`);
  await restart(taskId, bindings);
  return taskId;
}

/**
 * Lets the jobs of each test belong to no task at first, because several tests have a job of the same id, and a job stays
 * with the first task that names it.
 */
export function useUnclaimedJobs(): void {
  beforeEach(async () => {
    for (const id of await listDurableObjectIds(env.JOBS)) {
      await runInDurableObject(env.JOBS.get(id), (_, { storage }) => storage.deleteAll());
    }
  });
}

/** Replaces the network by one upstream, and a receiver of callbacks. */
export function anUpstream(prefix: string, site: Site): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(prefix, site);
  return outside;
}

/** Sends a call about a job below the submit base, as an SDK does. */
export function callJob(
  connection: string,
  path: string,
  message: Parameters<typeof callWith>[2] = {},
  bindings: object = RELAY,
): Promise<Response> {
  return callWith(bindings, `/v1/submit/${connection}${path}`, message);
}
