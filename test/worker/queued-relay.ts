import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith } from "./client.ts";
import { pass, until } from "./clock.ts";
import { restart, stored } from "./objects.ts";
import { anOutside, answering, type Outside, type Sent } from "./outside.ts";
import { started } from "./started.ts";
import { ARK_PATH, BODY, submit, type Submission } from "./submitted.ts";
import { aCompletion, CALLBACK_URL, finish } from "./tasks.ts";

/** Servers of the members, in their order. */
export const HOSTS = ["https://a.example.org", "https://b.example.org"] as const;
export const OPS = "https://ops.example.com";

/** A relay with limited connections that only one test uses. */
export interface QueuedRelay {
  /** Names of the members. */
  readonly names: readonly [string, string];
  /** Name of the pool of both members. */
  readonly pool: string;
  readonly bindings: object;
}

/** Members of the entries in `CONNECTIONS`: those of both members, and those of the pool. Null for a removed entry. */
export interface Entries {
  readonly a?: object;
  readonly b?: object | null;
  readonly pool?: object;
}

/** Returns a relay with a pool of two connections to Ark with different keys and servers. */
export async function aQueuedRelay(
  entries: Entries = {},
  variables: object = {},
): Promise<QueuedRelay> {
  const id = crypto.randomUUID().slice(0, 8);
  const relay = { names: [`own-a-${id}`, `own-b-${id}`], pool: `own-${id}` } as const;
  return await configured(relay, entries, variables);
}

/** Gives a relay these entries and variables, as a deployment does. */
export async function configured(
  { names, pool }: Pick<QueuedRelay, "names" | "pool">,
  entries: Entries,
  variables: object = {},
): Promise<QueuedRelay> {
  const [a, b] = names;
  const [base_url, other] = HOSTS;
  const CONNECTIONS = JSON.stringify({
    [a]: { provider: "ark", key: keyOf(a), base_url, ...entries.a },
    ...(entries.b !== null && {
      [b]: { provider: "ark", key: keyOf(b), base_url: other, ...entries.b },
    }),
    [pool]: { provider: "pool", of: entries.b === null ? [a] : names, ...entries.pool },
  });
  const EXTRA_BASE_HOSTS = HOSTS.map((host) => new URL(host).host).join(" ");
  const bindings = { ...env, EXTRA_BASE_HOSTS, CONNECTIONS, ...variables };
  const value = await started(bindings);
  for (const name of names) {
    await runInDurableObject(env.QUEUES.getByName(name), (instance) => {
      Object.defineProperty(instance, "env", { value });
    });
  }
  return { names, pool, bindings };
}

export function keyOf(name: string): string {
  return `test-only-key-of-${name}`;
}

/** Replaces the network by the members' servers, of which each starts a job with another id, and a receiver. */
export function members(): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(OPS, () => new Response(null, { status: 204 }));
  for (const host of HOSTS) {
    outside.on(host, () => Response.json({ id: `cgt-${crypto.randomUUID()}` }));
  }
  return outside;
}

/** Returns the calls that both members have got. */
export function sentTo(outside: Outside): readonly Sent[] {
  return HOSTS.flatMap((host) => outside.sentTo(host)).filter(({ method }) => method === "POST");
}

/** Submits a job to a connection or pool, and returns the id of its task with the answer. */
export async function submitTo(
  { bindings }: QueuedRelay,
  connection: string,
  { headers, path = ARK_PATH, ...message }: Submission = {},
): Promise<{ readonly id: string; readonly response: Response }> {
  const id = crypto.randomUUID();
  const response = await submit({
    path: `/v1/submit/${connection}${path}`,
    bindings,
    headers: { "Relay-Task-Id": id, "Relay-Callback-Url": CALLBACK_URL, ...headers },
    body: BODY,
    ...message,
  });
  return { id, response };
}

/** Submits a job that waits for its place, after those before, and returns the id of its task. */
export async function waitFor(
  relay: QueuedRelay,
  connection: string,
  { headers, ...message }: Submission = {},
): Promise<string> {
  pass(1);
  const given = { Prefer: "respond-async", ...headers };
  const { id, response } = await submitTo(relay, connection, { ...message, headers: given });
  if (response.status !== 202) throw new Error(await response.text());
  await untilBegun(id);
  return id;
}

const Called = z.looseObject({ submission: z.looseObject({ id: z.string() }) });

/** Returns the object that makes the call of a task. */
export async function callOf(taskId: string) {
  const { submission } = Called.parse((await stored(taskId)).record);
  return env.CALLS.getByName(submission.id);
}

const State = z.looseObject({
  kind: z.string(),
  /** Absent while the call is sent, and afterwards. */
  stay: z.optional(z.looseObject({ place: z.string().nullable(), isBegun: z.boolean() })),
});

/** Returns what the object of a call stores; null when it stores nothing. */
export async function stateOf(taskId: string) {
  const state = await runInDurableObject(await callOf(taskId), (_, { storage }) =>
    storage.kv.get("call"),
  );
  return state === undefined ? null : State.parse(state);
}

async function untilBegun(taskId: string): Promise<void> {
  await until(async () => (await stateOf(taskId))?.stay?.isBegun !== false);
}

/** Runs the alarm of the object of a call, if one is set, until no further one is due within a second. */
export async function work({ bindings }: QueuedRelay, taskId: string): Promise<void> {
  const object = await callOf(taskId);
  const value = await started(bindings);
  await runInDurableObject(object, (instance) => {
    Object.defineProperty(instance, "env", { value });
  });
  for (;;) {
    const alarm = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    if (alarm === null || alarm > Date.now() + 1_000) return;
    pass(Math.max(0, alarm - Date.now()));
    await runDurableObjectAlarm(object);
  }
}

/** Waits until the call of a task has a place, and lets it be made. */
export async function workWithPlace(relay: QueuedRelay, taskId: string): Promise<void> {
  await until(async () => (await stateOf(taskId))?.stay?.place !== null);
  await work(relay, taskId);
}

export async function queueState(connection: string) {
  return await env.QUEUES.getByName(connection).state();
}

/** Moves the clock forward, and runs the alarm of a queue. */
export async function wakeQueue(connection: string, afterMs: number): Promise<void> {
  pass(afterMs);
  await runDurableObjectAlarm(env.QUEUES.getByName(connection));
}

/** Lets the job of a task end. */
export async function endJob({ bindings }: QueuedRelay, taskId: string): Promise<void> {
  await restart(taskId, bindings);
  await finish(aCompletion(taskId));
}

const Seen = z.looseObject({
  status: z.string(),
  provider: z.string().optional(),
  error: z.looseObject({ code: z.string() }).optional(),
  submission: z.looseObject({ state: z.string(), position: z.number().optional() }),
});

/** Reads a task as the operator. */
export async function readTask({ bindings }: QueuedRelay, id: string) {
  return Seen.parse(await (await callWith(bindings, `/v1/tasks/${id}`)).json());
}
