import type { CallRefusalReply } from "../../../src/core/events/call-refusal.ts";
import type { CallStart } from "../../../src/core/events/call-start.ts";
import type { SubmitOutcome } from "../../../src/core/events/event.ts";
import { isAboutAccount } from "../../../src/core/record/refusal.ts";
import type { WithStartup } from "../../../src/config/runtime.ts";
import { mayBeSentAgain, type StoredCall } from "../../../src/objects/call/call-plan.ts";
import {
  askForPlace,
  leaveOthers,
  type PlaceBindings,
  refusePlace,
} from "../../../src/objects/queue/place-request.ts";
import type { OutsideEvent } from "../../../src/objects/task/outside-event.ts";
import type { Applied } from "../../../src/objects/task/reply.ts";
import type { Caller } from "../../../src/objects/task/caller.ts";
import { SECOND } from "../../core/builders.ts";
import type { Party } from "./machine.ts";
import type { Simulated } from "./outside.ts";

/** A submission as a client sends it. */
export interface Request {
  readonly taskId: string;
  /** Connection or pool to which it is addressed. */
  readonly via: string;
  readonly account: string | null;
  readonly price: number | null;
  /** States that the client does not wait for the upstream's answer. */
  readonly isAsync: boolean;
  readonly isHookless: boolean;
  readonly startByMs: number | null;
}

type Env = WithStartup & PlaceBindings & Simulated;
type Call = (kind: "TASKS" | "CALLS", name: string, method: string, ...given: readonly unknown[]) => Promise<unknown>;

/** A Worker that handles one request to submit a job. */
export interface Worker {
  readonly party: Party;
  readonly env: Env;
  readonly call: Call;
  readonly submissionId: string;
  /** Names of the connections in whose queues the submission is. */
  readonly queues: readonly string[];
  wait(ms: number): Promise<void>;
  /** Stores the body of a call in its object, as `storeForm` does. */
  storeBody(): void;
  /** Takes note of what the client is answered. */
  answered(what: string): void;
}

const TRIES_MS = [0, SECOND / 2, 2 * SECOND, 5 * SECOND, 3 * SECOND, 5 * SECOND, 8 * SECOND];
const LOST = Symbol("lost");

/** Submits a job as the operation `submitJob` (api/submit) does. */
export async function submit(request: Request, worker: Worker): Promise<void> {
  await (request.isAsync ? submitLater(request, worker) : submitNow(request, worker));
}

async function submitLater(request: Request, worker: Worker): Promise<void> {
  const { call, submissionId, queues } = worker;
  worker.storeBody();
  const drop = () => call("CALLS", submissionId, "drop").catch(() => undefined);
  const stored = storedCallOf(request, worker);
  const receipt = await call("CALLS", submissionId, "storeCall", stored, null).catch(() => LOST);
  if (receipt !== true) {
    const isKnown = isRefusal(receipt) && (await isKnownTask(request, worker));
    if (!isKnown) {
      await drop();
      return worker.answered(isRefusal(receipt) ? "queue_full" : "unavailable");
    }
  }
  const applied = await register(request, { isCall: true, queues }, worker);
  // A registration without an answer is left to the object of the call.
  if (applied === null) return worker.answered("unavailable");
  if (applied.kind !== "recorded") {
    await drop();
    return worker.answered(applied.kind);
  }
  worker.answered("accepted");
  await call("CALLS", submissionId, "begin").catch(() => undefined);
}

function isRefusal(receipt: unknown): boolean {
  return typeof receipt === "object" && receipt !== null && "retryAfterMs" in receipt;
}

function storedCallOf(request: Request, { submissionId, queues }: Worker): StoredCall {
  return {
    taskId: request.taskId,
    submissionId,
    connection: request.via,
    ...(queues.length > 0 && { queues: { connections: queues, account: request.account } }),
    model: "m",
    path: "/jobs",
    sentPath: "/jobs",
    headers: [],
    keyHeader: null,
    jobId: null,
    isHookExpected: !request.isHookless,
    storesFiles: false,
    secrets: [],
  };
}

async function submitNow(request: Request, worker: Worker): Promise<void> {
  const { env, submissionId, queues } = worker;
  const question = questionOf(request, worker);
  const reply = queues.length === 0 ? null : await askForPlace(env, queues, question);
  const place = reply?.kind === "granted" ? reply.connection : null;
  if (reply !== null && place === null && !(await isKnownTask(request, worker))) {
    return worker.answered("connection_busy");
  }
  const leave = () => leaveOthers(env, queues, null, { submissionId, attempt: Infinity });
  const applied = await register(request, { queues, ...(place && { place }) }, worker);
  if (applied === null) {
    await bring(request, { kind: "not_sent" }, worker);
    await leave();
    return worker.answered("unavailable");
  }
  if (applied.kind !== "recorded") {
    await leave();
    return worker.answered(applied.kind);
  }
  if (reply !== null && place === null) {
    await bring(request, { kind: "not_sent" }, worker);
    return worker.answered("connection_busy");
  }
  const outcome = await sendToMembers(request, worker, place ?? request.via);
  await bring(request, outcome, worker);
  worker.answered(outcome.kind);
}

function questionOf({ taskId, account, via }: Request, { submissionId }: Worker) {
  const since = Date.now();
  return { submissionId, taskId, account, via, attempt: 1, since, mayWait: false };
}

/** Sends the call to one member of a pool after the other, until one does not refuse it. */
async function sendToMembers(
  request: Request,
  worker: Worker,
  first: string,
): Promise<SubmitOutcome> {
  const { env, submissionId, queues } = worker;
  let connection = first;
  let left = [...queues];
  for (let attempt = 1; ; attempt++) {
    const outcome = await send(request, connection, attempt, worker);
    if (queues.length === 0 || !mayBeSentAgain(outcome)) return outcome;
    const { statusCode, refusal } = outcome;
    left = left.filter((name) => name !== connection);
    const { retryAfterMs = null } = outcome;
    if (left.length === 0) {
      await refusePlace(env, connection, { submissionId, attempt, refusal, retryAfterMs });
      return outcome;
    }
    const refused = { type: "call_refused", submissionId, attempt, connection, statusCode, refusal };
    const reply = await repeated<CallRefusalReply>(worker, "refuseCall", request.taskId, refused);
    await refusePlace(env, connection, { submissionId, attempt, refusal, retryAfterMs });
    if (reply !== "again") return outcome;
    const question = { ...questionOf(request, worker), attempt: attempt + 1 };
    const place = await askForPlace(env, left, question);
    if (place.kind !== "granted") return outcome;
    connection = place.connection;
    const event = { type: "call_started", submissionId, attempt: attempt + 1, connection };
    const start = await repeated<CallStart>(worker, "startCall", request.taskId, event);
    if (start?.kind !== "send") return outcome;
    if (isAboutAccount(refusal)) env.startup.waitUntil(Promise.resolve());
  }
}

async function send(
  { taskId, isHookless }: Request,
  connection: string,
  attempt: number,
  { env, submissionId }: Worker,
): Promise<SubmitOutcome> {
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(), env.outside.policy.submitTimeoutMs);
  const sent = { taskId, submissionId, connection, attempt };
  const outcome = await env.outside.submit(env.party, sent, aborter.signal);
  clearTimeout(timer);
  if (outcome.kind !== "accepted") return outcome;
  return { ...outcome, isHookExpected: outcome.isHookExpected && !isHookless };
}

/** Repeats a call to the task's object until it is answered; null when it is not. */
async function repeated<T>(
  { call, wait }: Worker,
  method: string,
  taskId: string,
  event: object,
): Promise<T | null> {
  for (const ms of TRIES_MS) {
    await wait(ms);
    const answer = await call("TASKS", taskId, method, event).catch(() => LOST);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the method of the object has this result
    if (answer !== LOST) return answer as T;
  }
  return null;
}

async function bring(
  { taskId, account }: Request,
  outcome: SubmitOutcome,
  { call, wait, submissionId }: Worker,
): Promise<void> {
  const event = { type: "submit_ended", submissionId, outcome };
  for (const ms of TRIES_MS) {
    await wait(ms);
    const end = call("TASKS", taskId, "endSubmission", event, callerOf(account));
    if ((await end.catch(() => LOST)) !== LOST) return;
  }
}

async function isKnownTask({ taskId, account }: Request, { call }: Worker): Promise<boolean> {
  const known = await call("TASKS", taskId, "read", callerOf(account)).catch(() => null);
  return known !== null;
}

async function register(
  request: Request,
  submission: object,
  { call, submissionId }: Worker,
): Promise<Applied | null> {
  const { taskId: id, via: provider, account: accountId, price, isHookless, startByMs } = request;
  const registration = {
    callbackUrl: null,
    provider,
    parameters: null,
    metadata: null,
    deadlineAt: null,
    accountId,
    credits: price,
  };
  const hooks = isHookless ? { isHookless } : {};
  const start = startByMs === null ? {} : { startByMs };
  const known = { id: submissionId, requestDigest: "d", endpoint: null, isByOwner: true };
  const account = accountId === null || price !== null ? null : { id: accountId, generation: 1 };
  const event = {
    type: "register",
    id,
    model: "m",
    origin: "https://relay.example.com",
    registration,
    job: null,
    deadlineMs: null,
    account,
    chargeId: price === null ? null : submissionId,
    submission: { ...known, ...hooks, ...start, ...submission },
  } satisfies OutsideEvent;
  const applied = await call("TASKS", id, "apply", event, callerOf(accountId)).catch(() => null);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the method of the object has this result
  return applied as Applied | null;
}

export function callerOf(account: string | null): Caller {
  return account === null
    ? { kind: "operator", role: "admin", key: "operator" }
    : { kind: "account", id: account, role: "full", key: "k" };
}
