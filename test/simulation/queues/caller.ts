import type { SubmitOutcome } from "../../../src/core/events/event.ts";
import { errorName } from "../../../src/lib/log.ts";
import type { Caller } from "../../../src/objects/task/caller.ts";
import type { OutsideEvent } from "../../../src/objects/task/outside-event.ts";
import type { Connection } from "../../../src/providers/provider.ts";
import { bringOutcome } from "../../../src/api/submit/bring-outcome.ts";
import { callLater } from "../../../src/api/submit/call-later.ts";
import {
  registeredWithPlace,
  type Send,
  sendAttempts,
} from "../../../src/api/submit/call-place.ts";
import { PendingCall } from "../../../src/api/submit/pending-call.ts";
import type { SubmissionPlan, SubmitCall } from "../../../src/api/submit/submission-plan.ts";
import { NO_ORIGIN } from "../../../src/api/http/link-origin.ts";
import { Problem } from "../../../src/api/http/problem.ts";
import type { Party } from "./machine.ts";
import type { Simulated } from "./outside.ts";

/** A relay that does not know its own address, so that it makes no status links. */
const NOWHERE = { runtime: { config: { publicUrl: null } }, origin: NO_ORIGIN };

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

/** A Worker that handles one request to submit a job. */
export interface Worker {
  readonly party: Party;
  readonly env: SubmitCall["env"] & Simulated;
  readonly connection: Connection;
  /** The connections in whose queues the submission is. */
  readonly queues: readonly Connection[];
  /** Takes note of the submission before anything is sent; stores the body of its call, if its client does not wait. */
  begun(submissionId: string): void;
  /** Takes note of what the client is answered. */
  answered(what: string): void;
}

/** Submits a job as the operation `submitJob` (api/submit) does, after it has read the request. */
export async function submit(request: Request, worker: Worker): Promise<void> {
  const { env } = worker;
  const pending = new PendingCall(env);
  const { submissionId } = pending;
  worker.begun(submissionId);
  const plan = planOf(request, worker, submissionId);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is missing concerns the answer to the client
  const call = { env, caller: callerOf(request.account), ...NOWHERE } as unknown as SubmitCall;
  try {
    if (request.isAsync) {
      const { isReplayed } = await callLater(plan, call, pending);
      worker.answered(isReplayed ? "replayed" : "accepted");
    } else await submitNow(request, plan, call, worker);
  } catch (error) {
    worker.answered(error instanceof Problem ? error.code : errorName(error));
  } finally {
    env.startup.waitUntil(pending.drop());
  }
}

/** Submits a job whose client waits for the answer, as `submitOnce` (api/submit) does. */
async function submitNow(
  { isHookless }: Request,
  plan: SubmissionPlan,
  call: SubmitCall,
  worker: Worker,
): Promise<void> {
  const { event, submissionId } = plan;
  const bring = (outcome: SubmitOutcome) => bringOutcome(event.id, submissionId, outcome, call);
  const registered = await registeredWithPlace(plan, call, () => bring({ kind: "not_sent" }));
  if (!registered.isNew) return worker.answered("replayed");
  const send: Send = async (_plan, _task, _call, place) => {
    const outcome = await sent(event.id, submissionId, place, worker);
    const isNoHook = outcome.kind === "accepted" && isHookless;
    const known = isNoHook ? { ...outcome, isHookExpected: false } : outcome;
    const end = async () => {
      await bring(known);
      return { taskId: event.id, status: 200, headers: new Headers(), body: new Uint8Array() };
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody reads the answer
    return { outcome: known, isReported: false, drop: () => {}, end } as Awaited<ReturnType<Send>>;
  };
  await sendAttempts(plan, registered.task, call, registered.place, send);
  worker.answered("the upstream's answer");
}

async function sent(
  taskId: string,
  submissionId: string,
  place: { readonly connection: string; readonly attempt: number } | null,
  { env, connection }: Worker,
): Promise<SubmitOutcome> {
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(), env.outside.policy.submitTimeoutMs);
  const { attempt, ...at } = place ?? { connection: connection.name, attempt: 1 };
  const call = { taskId, submissionId, connection: at.connection, attempt };
  const outcome = await env.outside.submit(env.party, call, aborter.signal);
  clearTimeout(timer);
  return outcome;
}

function planOf(request: Request, worker: Worker, submissionId: string): SubmissionPlan {
  const { taskId: id, via: provider, account: accountId, price, isHookless, startByMs } = request;
  const { connection, queues } = worker;
  const names = queues.map(({ name }) => name);
  const registration = {
    callbackUrl: null,
    provider,
    parameters: null,
    metadata: null,
    deadlineAt: null,
    accountId,
    credits: price,
  };
  const account = accountId === null || price !== null ? null : { id: accountId, generation: 1 };
  const submission = {
    id: submissionId,
    requestDigest: "d",
    endpoint: null,
    isByOwner: accountId !== null,
    ...(isHookless && { isHookless: true as const }),
    ...(request.isAsync && { isCall: true as const }),
    ...(startByMs !== null && { startByMs }),
    ...(names.length > 0 && { queues: names }),
  };
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
    submission,
  } as const satisfies OutsideEvent;
  const target = { headers: {}, answer: "job" };
  const plan = {
    place: { connection, credential: null, target },
    call: { path: "/jobs", headers: new Headers(), isAsync: request.isAsync },
    sent: { path: "/jobs", contentType: null, isOfAccount: false, body: bodyOf(request) },
    event,
    isHookExpected: !isHookless,
    submissionId,
    jobId: null,
    secrets: [],
    isNamedByKey: false,
    queues,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is missing concerns the call as it is sent
  return plan as unknown as SubmissionPlan;
}

/** Returns the body of a call: of one whose client does not wait, it was stored while it arrived, as forms are. */
function bodyOf({ isAsync }: Request): unknown {
  return isAsync ? new ReadableStream() : [];
}

export function callerOf(account: string | null): Caller {
  return account === null
    ? { kind: "operator", role: "all", key: "operator" }
    : { kind: "account", id: account, role: "full", key: "k" };
}
