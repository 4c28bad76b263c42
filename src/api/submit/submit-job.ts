import * as z from "zod/mini";
import type { Runtime } from "../../config/runtime.ts";
import type { SubmitOutcome } from "../../core/events/event.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import { errorText, log } from "../../log.ts";
import { accountOf, type Caller, readerOf } from "../../objects/task/caller.ts";
import type { OutsideEvent } from "../../objects/task/outside-event.ts";
import type { Applied, SubmissionReply, TaskReply } from "../../objects/task/reply.ts";
import { submit, type SubmitAnswer } from "../../outbound/http.ts";
import type { Simulation } from "../../providers/simulated-provider.ts";
import { bytesOf, toBase64Url } from "../../security/encoding.ts";
import { isLoopback } from "../../security/url-rules.ts";
import { refusalOf } from "../callback-url.ts";
import { hookUrl } from "../hooks/hook-url.ts";
import { unavailable } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { type Call, NoQuery, operation } from "../operation.ts";
import { idOfKey } from "../tasks/idempotency-key.ts";
import { billingOf, requireUnusedKey } from "../tasks/register-task.ts";
import { statusLinkOf } from "../tasks/status-url.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";
import { BodyReservation } from "./body-budget.ts";
import { outcomeOf } from "./submit-outcome.ts";
import {
  prepareCall,
  type PreparedCall,
  type SentCall,
  type SubmitPlace,
} from "./prepared-call.ts";
import { readRelayHeaders, type RelayHeaders } from "./relay-headers.ts";
import { answerSecrets, withoutSecrets } from "./answer-secrets.ts";
import { passedHeaders, sentHeaders } from "./sent-headers.ts";
import { requireSubmitPlace } from "./submit-place.ts";
import { UpstreamCall } from "./upstream-call.ts";

const SUBMISSION_ID_BYTES = 16;
/** Waits in milliseconds before each try to bring the outcome of a submission to the task's object. */
const RETRY_WAITS_MS = [0, SECOND_MS / 2, 2 * SECOND_MS, 5 * SECOND_MS];
const EARLIER_OBJECT = "The task's object still runs an earlier release, so nothing was submitted.";
/** Header that keeps the SDKs of upstreams from repeating a call. */
const NOT_AGAIN = { "x-should-retry": "false" };
const REPLAYED = { "Idempotent-Replayed": "true" };
const JSON_TYPE = { "Content-Type": "application/json" };

/** Result of a submission, for its caller. */
export interface Submitted {
  readonly taskId: string;
  readonly status: number;
  /** Headers of the upstream's answer that are passed on. */
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | string;
  /**
   * Status link of the task. Null when the task was erased, because the upstream has refused the submission, or when the
   * link could not be made.
   */
  readonly statusUrl: string | null;
  /** True when an equal call with the same `Idempotency-Key` has made the submission before. */
  readonly isReplayed: boolean;
}

type SubmitCall = Call<"connection", object, UpstreamCall>;
type Registering = Extract<OutsideEvent, { type: "register" }>;

/** A submission that is ready to be registered and sent. */
interface Plan {
  readonly place: SubmitPlace;
  readonly call: UpstreamCall;
  readonly event: Registering;
  readonly sent: SentCall;
  readonly isHookExpected: boolean;
  readonly submissionId: string;
  /** What the caller must not read in the answer. */
  readonly secrets: readonly string[];
  /** True when the id of the task comes from an `Idempotency-Key`, and not from the caller itself. */
  readonly isNamedByKey: boolean;
}

/**
 * Submits a job to an upstream: registers its task, charges its price, sends the caller's own call once, and returns the
 * upstream's own answer after it is stored. Whatever happens, the call is never sent twice for a task.
 */
export const submitJob = operation(
  {
    access: "submit",
    rateLimit: "LIMIT_SUBMITS",
    params: ["connection"],
    query: NoQuery,
    body: z.instanceof(UpstreamCall),
    takesIdempotencyKey: true,
  },
  async (given: SubmitCall): Promise<Submitted> => {
    const memory = new BodyReservation();
    try {
      const work = submitOnce(await planOf(given, memory), given);
      // A client that hangs up loses nothing: a charged call is sent, and its answer is stored all the same.
      given.env.startup.waitUntil(work.catch(() => undefined));
      return await work;
    } finally {
      memory.release();
    }
  },
);

async function planOf(given: SubmitCall, memory: BodyReservation): Promise<Plan> {
  const { body: call, caller, env, idempotencyKey: key, origin, params, runtime } = given;
  const place = requireSubmitPlace(params.connection, call.path, runtime.config);
  const asked = readRelayHeaders(call.headers, caller);
  const prepared = await prepareCall(call, place, caller, runtime, memory);
  const registration = registrationOf(asked, prepared, place, given);
  const id = asked.taskId ?? (key === null ? crypto.randomUUID() : await idOf(caller, key));
  const submissionId = toBase64Url(crypto.getRandomValues(new Uint8Array(SUBMISSION_ID_BYTES)));
  const fields = await fieldsOf(place, prepared, id, submissionId, runtime, origin);
  const { accountId, credits } = registration;
  const { requestDigest, model } = prepared;
  const event: Registering = {
    type: "register",
    id,
    model,
    origin,
    registration,
    ...simulatedJob(place, model),
    ...(await billingOf({ account: accountId, credits }, env, runtime)),
    submission: { id: submissionId, requestDigest, endpoint: place.target.endpoint },
    ...(accountOf(caller) !== null && { isPriceOffered: true }),
  };
  const isHookExpected = fields.size > 0 && isReachable(runtime);
  const secrets = accountId === null ? [] : answerSecrets(place.connection, fields);
  const isNamedByKey = asked.taskId === null && key !== null;
  const sent = prepared.withFields(fields);
  return { place, call, event, sent, isHookExpected, submissionId, isNamedByKey, secrets };
}

/** Returns what is registered for a submission. An account pays the price of its offer, an operator states the credits. */
function registrationOf(
  asked: RelayHeaders,
  prepared: PreparedCall,
  place: SubmitPlace,
  given: SubmitCall,
): Registering["registration"] {
  const { caller, idempotencyKey } = given;
  const account = accountOf(caller);
  const accountId = account ?? asked.accountId;
  const credits = account === null ? asked.credits : prepared.credits;
  if (credits !== null && asked.taskId === null && idempotencyKey === null) {
    const message = "is required for a submission with a price";
    throw invalidRequest([{ path: "/Idempotency-Key", message }]);
  }
  return {
    callbackUrl: callbackUrlOf(asked, prepared, place, given, accountId !== null),
    provider: place.connection.name,
    parameters: prepared.parameters,
    metadata: asked.metadata,
    deadlineAt: asked.deadlineAtS === null ? null : asked.deadlineAtS * SECOND_MS,
    accountId,
    credits,
  };
}

/** Returns the id of the task of a submission with an `Idempotency-Key`. Each account has keys of its own. */
function idOf(caller: Caller, key: string): Promise<string> {
  const account = accountOf(caller);
  return idOfKey(readerOf(caller), account === null ? key : `${account}\n${key}`);
}

/**
 * Returns the `callback_url` of the task: that of the header or, without it, the URL in the provider's own hook field,
 * whose place the relay's hook URL takes.
 */
function callbackUrlOf(
  { callbackUrl: named }: RelayHeaders,
  { ownHookUrl }: PreparedCall,
  place: SubmitPlace,
  { runtime, origin }: SubmitCall,
  hasAccount: boolean,
): string | null {
  const path = ownHookUrl !== null && named === null ? hookPathOf(place) : "/Relay-Callback-Url";
  if (named !== null && ownHookUrl !== null) {
    const message = "must be left out where the request has the provider's own hook URL";
    throw invalidRequest([{ path, message }]);
  }
  const url = named ?? ownHookUrl;
  const message = refusalOf(url, runtime, origin, hasAccount);
  if (message !== null) throw invalidRequest([{ path, message }]);
  return url;
}

/** Returns the path of an issue with the provider's own hook field: `/a/b` for `a.b`, `/name` for `?name`. */
function hookPathOf({ connection }: SubmitPlace): string {
  const field = connection.provider.hooks?.parameter ?? "";
  return `/${field.replace(/^\?/, "").replaceAll(".", "/")}`;
}

/**
 * Returns the texts that the relay sets in the call: its hook URL and, where the provider takes them, the task's id,
 * which hooks repeat, and the secret with which hooks are signed.
 */
async function fieldsOf(
  { connection }: SubmitPlace,
  { takesHookUrl }: PreparedCall,
  taskId: string,
  submissionId: string,
  runtime: Runtime,
  origin: string,
): Promise<ReadonlyMap<string, string>> {
  const { hooks } = connection.provider;
  if (hooks === null || !takesHookUrl) return new Map();
  const url = await hookUrl(connection, taskId, submissionId, runtime, origin);
  const { idParameter, parameter, secretParameter } = hooks;
  const fields = new Map([[parameter, url]]);
  if (idParameter !== null) fields.set(idParameter, taskId);
  if (secretParameter !== undefined && connection.webhookSecret !== null) {
    fields.set(secretParameter, connection.webhookSecret);
  }
  return fields;
}

function isReachable({ config: { publicUrl } }: Runtime): boolean {
  return publicUrl !== null && !isLoopback(new URL(publicUrl));
}

/** Returns the job of a simulated provider, which is known before the submission; null for any other provider. */
function simulatedJob({ connection: { provider } }: SubmitPlace, model: string) {
  if (provider.polls !== null) return { job: null, deadlineMs: null };
  const started = provider.simulation.start(model);
  if (!started.ok) throw invalidRequest([{ path: "/model", message: started.error }]);
  return started.value;
}

/** Registers the task of a submission. The call is sent only when the task's object has recorded this submission. */
async function submitOnce(plan: Plan, given: SubmitCall): Promise<Submitted> {
  const { caller, env } = given;
  const { event, submissionId } = plan;
  const applied = await taskClient(env, event.id)
    .apply(event, caller)
    .catch(async (error: unknown) => {
      // It is not known whether the object has recorded the submission. Nothing was sent, and nothing will be.
      await bringOutcome(event.id, endOf(submissionId, { kind: "not_sent" }), given);
      throw error;
    });
  if (plan.isNamedByKey) requireUnusedKey(applied);
  const { isNew, task } = accepted(applied);
  const stored = submissionOf(applied);
  if (!isNew) return replayed(event, task, stored, given);
  if (stored?.id !== submissionId) throw unavailable(EARLIER_OBJECT, "earlier_release");
  return sendAndEnd(plan, given);
}

function submissionOf(applied: Applied): SubmissionReply | null {
  return applied.kind === "recorded" || applied.kind === "repeated"
    ? (applied.submission ?? null)
    : null;
}

function endOf(submissionId: string, outcome: SubmitOutcome) {
  return { type: "submit_ended", submissionId, outcome } as const;
}

/** Sends the call, stores its outcome, and returns the answer for the caller. */
async function sendAndEnd(plan: Plan, given: SubmitCall): Promise<Submitted> {
  const { event, submissionId } = plan;
  const send = await sendingOf(plan, given);
  const { answer, outcome } = await outcomeOfSending(send, plan, given.runtime);
  const { isStored, task } = await bringOutcome(event.id, endOf(submissionId, outcome), given);
  const isKnown = answer !== null && outcome.kind !== "unknown" && isStored;
  if (!isKnown) throw await unknownOutcome(event, task, given);
  const { status, headers, bytes: body } = answer;
  const passed = { status, headers: passedHeaders(headers), body, isReplayed: false };
  const statusUrl = task === null ? null : await statusUrlOf(event, task, given);
  return { taskId: event.id, ...passed, statusUrl };
}

/** Function that sends the one call, and returns the upstream's answer; null when there is none. */
type Sending = () => Promise<SubmitAnswer | null>;

/**
 * Builds the call.
 * @returns the function that sends it.
 * @throws what has made the building fail, after the task's object has learnt that nothing is sent.
 */
async function sendingOf(plan: Plan, given: SubmitCall): Promise<Sending> {
  try {
    return await builtCall(plan, given.runtime);
  } catch (error) {
    await bringOutcome(plan.event.id, endOf(plan.submissionId, { kind: "not_sent" }), given);
    throw error;
  }
}

async function builtCall({ place, call, event, sent, secrets }: Plan, { config }: Runtime) {
  const { connection, target } = place;
  const { provider, key, baseUrl } = connection;
  if (provider.polls === null) {
    const { simulation } = provider;
    return async () => simulatedAnswer(simulation.submit(call.path, event.model));
  }
  const credentials = key === null ? {} : await provider.polls.headers(key, Date.now());
  const headers = sentHeaders(call.headers, credentials, sent);
  const isLarge = target.answer !== "job";
  const request = { url: `${baseUrl}${sent.path}`, headers, body: sent.body, isLarge };
  return async () => {
    const answer = await submit(request, config.submitTimeoutMs);
    return answer === null ? null : withoutSecrets(answer, secrets);
  };
}

/** Sends the call, and returns its outcome. Once it may have been sent, a fault of the relay leaves the outcome unknown. */
async function outcomeOfSending(
  send: Sending,
  { place, call, event, isHookExpected }: Plan,
  { config }: Runtime,
) {
  let answer: SubmitAnswer | null = null;
  try {
    answer = await send();
    const outcome = outcomeOf(answer, place, call.path, isHookExpected, config);
    return { answer, outcome };
  } catch (error) {
    log({ event: "submission.unread", task_id: event.id, error: errorName(error) }, "error");
    const outcome: SubmitOutcome = { kind: "unknown", statusCode: answer?.status ?? null };
    return { answer, outcome };
  }
}

/** Returns the name of an error. Its message may contain a part of the answer. */
function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}

function simulatedAnswer(submitted: ReturnType<Simulation["submit"]>): SubmitAnswer | null {
  if (submitted === null || !submitted.ok) return null;
  const text = submitted.value.answer;
  const bytes = bytesOf(text);
  const headers = new Headers(JSON_TYPE);
  return { status: 200, headers, bytes, json: JSON.parse(text), isCut: false };
}

/** What became of an outcome that was brought to the task's object. */
interface Brought {
  /**
   * False when the object could not be reached. The outcome then counts as unknown once the time for the answer is over.
   */
  readonly isStored: boolean;
  /** The task; null when it was erased, or the outcome is not stored. */
  readonly task: TaskReply | null;
}

/** Brings the outcome of a submission to the task's object, several times if need be. */
async function bringOutcome(
  taskId: string,
  end: ReturnType<typeof endOf>,
  { caller, env }: SubmitCall,
): Promise<Brought> {
  const client = taskClient(env, taskId);
  for (const waitMs of RETRY_WAITS_MS) {
    if (waitMs > 0) await scheduler.wait(waitMs);
    try {
      return { isStored: true, task: await client.endSubmission(end, caller) };
    } catch (error) {
      const line = { task_id: taskId, outcome: end.outcome.kind, error: errorText(error) };
      log({ event: "submission.not_stored", ...line }, "warn");
    }
  }
  return { isStored: false, task: null };
}

/** Returns the answer to a repeated submission: that of the upstream to the first one, as far as it is kept. */
async function replayed(
  event: Registering,
  task: TaskReply,
  submission: SubmissionReply | null,
  given: SubmitCall,
): Promise<Submitted> {
  if (submission?.state === "unknown") throw await unknownOutcome(event, task, given, true);
  const answer = submission?.answer ?? null;
  if (answer === null) {
    const detail =
      "The job was submitted already, and the upstream's answer is not kept. The member task is its task.";
    const headers = { ...(await linksOf(event, task, given)), ...REPLAYED, ...NOT_AGAIN };
    throw new Problem("task_exists", { detail, taskJson: task.json, headers });
  }
  const { status, contentType, body } = answer;
  const headers = new Headers(contentType === null ? {} : { "Content-Type": contentType });
  const statusUrl = await statusUrlOf(event, task, given);
  return { taskId: event.id, status, headers, body, statusUrl, isReplayed: true };
}

/** Returns the problem for a submission with an unknown outcome. SDKs must not repeat it. */
async function unknownOutcome(
  event: Registering,
  task: TaskReply | null,
  given: SubmitCall,
  isReplayed = false,
): Promise<Problem> {
  const links = task === null ? {} : await linksOf(event, task, given);
  return new Problem("submit_unknown", {
    detail:
      "The upstream may have started a job. The task stays open and shows what becomes of it; do not submit again.",
    ...(task !== null && { taskJson: task.json }),
    headers: { ...links, ...NOT_AGAIN, ...(isReplayed && REPLAYED) },
  });
}

/**
 * Returns the headers that lead from a problem to its task. `Relay-Task-Id` is not among them: it marks the answers of
 * upstreams, by which clients tell a refusal of the upstream from one of the relay.
 */
async function linksOf(
  event: Registering,
  task: TaskReply,
  given: SubmitCall,
): Promise<Readonly<Record<string, string>>> {
  const url = await statusUrlOf(event, task, given);
  return { Location: `/v1/tasks/${event.id}`, ...(url !== null && { "Relay-Status-Url": url }) };
}

/**
 * Returns the status link of the task; null when it cannot be made, which must not hide the answer to a job that the
 * upstream has accepted.
 */
async function statusUrlOf(
  { id, registration: { deadlineAt } }: Registering,
  { createdAt = 0, recordedAt = null }: TaskReply,
  { runtime, origin }: SubmitCall,
): Promise<string | null> {
  const deadlineAtS = deadlineAt === null ? null : toSeconds(deadlineAt);
  const linked = { id, createdAtS: toSeconds(createdAt), recordedAt, deadlineAtS };
  try {
    return (await statusLinkOf(linked, runtime, origin)).url;
  } catch (error) {
    log({ event: "submission.not_linked", task_id: id, error: errorName(error) }, "error");
    return null;
  }
}
