import type { Runtime } from "../../config/runtime.ts";
import { statedEvents } from "../../core/record/callback-events.ts";
import { linkDigest } from "../../core/record/input-links.ts";
import type { Price } from "../../core/record/price-rule.ts";
import { traceMember } from "../../core/record/trace.ts";
import type { SubmissionStart } from "../../core/record/submission.ts";
import { SECOND_MS } from "../../core/time.ts";
import { isHttpUrl } from "../../core/url.ts";
import { accountOf, type Caller, readerOf } from "../../objects/task/caller.ts";
import type { OutsideEvent } from "../../objects/task/outside-event.ts";
import type { SecretsOfCall } from "../../outbound/answer-secrets.ts";
import { sha256, toBase64Url } from "../../security/encoding.ts";
import { sealKey } from "../../security/sealed-key.ts";
import { isLoopback } from "../../security/url-rules.ts";
import { requireSchedule } from "../callbacks/callback-schedule.ts";
import { refusalForTask } from "../callbacks/callback-url.ts";
import { endpointOfTask } from "../endpoints/endpoint-client.ts";
import { canHooksArrive, hookUrl } from "../hooks/hook-url.ts";
import { invalidRequest } from "../http/problem.ts";
import type { Call } from "../operation.ts";
import { offersTo } from "../offers/offers-of-relay.ts";
import { idOfKey } from "../tasks/idempotency-key.ts";
import { billingOf, chargeOf, requireUsageName, simulatedStartOf } from "../tasks/register-task.ts";
import type { BodyReservation } from "./body-budget.ts";
import {
  requireFunds,
  requireMode,
  requireOffers,
  type ReservedFor,
  reserving,
} from "./early-checks.ts";
import type { PendingCall } from "./pending-call.ts";
import {
  type BodySource,
  hookParametersOf,
  hookPathOf,
  prepareCall,
  type PreparedCall,
  type SentCall,
  type SubmitPlace,
} from "./prepared-call.ts";
import { readRelayHeaders, type RelayHeaders } from "./relay-headers.ts";
import { refuseRelayKeys } from "./relay-key-refusal.ts";
import { queuesFor, requireSubmitPlace } from "./submit-place.ts";
import { RESPOND_ASYNC } from "./preference.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** Call of the operation that submits a job. */
export type SubmitCall = Call<"connection", object, UpstreamCall>;
/** Event with which the task of a submission is registered. */
export type Registering = Extract<OutsideEvent, { type: "register" }>;

/** A submission that is ready to be registered and sent. */
export interface SubmissionPlan {
  readonly place: SubmitPlace;
  readonly call: UpstreamCall;
  readonly event: Registering;
  readonly sent: SentCall;
  readonly isHookExpected: boolean;
  readonly submissionId: string;
  /** Id of the job if the call itself contains it; null when the upstream states it in its response. */
  readonly jobId: string | null;
  /** What decides which texts in the upstream's response must not be shown to the caller. */
  readonly secrets: SecretsOfCall;
  /** True when the id of the task was derived from an `Idempotency-Key`, false when the caller chose it. */
  readonly isNamedByKey: boolean;
}

/**
 * Reads the request of a submission, and decides what is registered and what is sent to the upstream, without sending
 * anything itself. It stores nothing but the form of a call whose client does not wait for the upstream's response.
 * @param memory reservation of the memory that the body of the request takes.
 * @param pending the call, in which such a form is stored.
 * @throws Problem when the request is refused.
 */
export async function planSubmission(
  submitCall: SubmitCall,
  memory: BodyReservation,
  pending: PendingCall,
): Promise<SubmissionPlan> {
  const { body: call, caller, env, idempotencyKey: key, origin, params, runtime } = submitCall;
  const offered = await offersTo(caller, params.connection, submitCall);
  const isOperator = offered === null;
  const place = requireSubmitPlace(params.connection, call, runtime.config, offered);
  await refuseRelayKeys(call, runtime);
  const asked = readRelayHeaders(call.headers, caller);
  const offers = requireOffers(offered, place, call);
  requireMode(place, call, runtime);
  if (offers?.areAllPriced === true) requireName(asked, submitCall);
  const id = asked.taskId ?? (key === null ? crypto.randomUUID() : await idOf(caller, key));
  const source = bodySource(call, { env, runtime, caller, taskId: id, offers }, memory, pending);
  const prepared = await prepareCall(call, place, caller, runtime, source);
  const registration = registrationOf(asked, prepared, place, submitCall);
  const { submissionId } = pending;
  const fields = await fieldsOf(place, prepared, id, submissionId, submitCall);
  const { accountId } = registration;
  const { model, jobId } = prepared;
  const identity = await identityOf(place, prepared, id, runtime);
  const event: Registering = {
    type: "register",
    id,
    model,
    origin,
    registration,
    ...simulatedStartOf(model, call.path, place.connection),
    ...(await partiesOf(registration, callbackPathOf(asked, prepared, place), submitCall)),
    submission: {
      id: submissionId,
      endpoint: place.target.endpoint,
      isByOwner: !isOperator,
      ...inputLinksOf(prepared, fields),
      ...(!canHookCome(fields, place, submitCall) && { isHookless: true }),
      ...senderOf(asked, call, place),
      ...queueNamesOf(place),
      ...offerNameOf(prepared),
      ...identity,
    },
    ...marksOf(submitCall, isOperator),
  };
  const isHookExpected = fields.size > 0 && canHooksArrive(submitCall);
  const secrets = secretsOf(place, fields, accountId !== null);
  const isNamedByKey = asked.taskId === null && key !== null;
  const sent = prepared.withFields(fields);
  return { place, call, event, sent, isHookExpected, submissionId, isNamedByKey, jobId, secrets };
}

/** Returns that the price is that of an offer, for the submission of an account, and the trace context of the call. */
function marksOf(
  { trace }: SubmitCall,
  isOperator: boolean,
): Pick<Registering, "isPriceOffered" | "trace"> {
  return { ...(!isOperator && { isPriceOffered: true }), ...traceMember(trace) };
}

/**
 * Returns the account that pays for a submission, or the id of the charge, and the endpoint that gets the callback.
 * @param path place of the `callback_url` in the request.
 */
async function partiesOf(
  { accountId, callbackUrl, credits }: Registering["registration"],
  path: string,
  { env, runtime }: SubmitCall,
): Promise<Pick<Registering, "account" | "chargeId" | "endpoint">> {
  const billing = await billingOf(accountId, credits !== null, env, runtime);
  return { ...billing, ...(await endpointOfTask(callbackUrl, accountId, path, env)) };
}

/**
 * Returns whether an object sends the call of a submission, whether the caller waits for the response, and until when
 * the call may wait if its caller has stated this.
 * @throws Problem `invalid_request` when the caller has stated it for a call that does not wait.
 */
function senderOf(
  { startByS }: RelayHeaders,
  { isAsync }: UpstreamCall,
  { target }: SubmitPlace,
): Pick<SubmissionStart, "isCall" | "isPassedOn" | "startByMs"> {
  if (isAsync) {
    return { isCall: true, ...(startByS !== null && { startByMs: startByS * SECOND_MS }) };
  }
  if (startByS === null) return target.answer === "result" ? { isPassedOn: true } : {};
  const message = `is only for calls with Prefer: ${RESPOND_ASYNC}`;
  throw invalidRequest([{ path: "/Relay-Start-By", message }]);
}

/** Returns the names of the connections in whose queues a submission may get a place, if there are any. */
function queueNamesOf(place: SubmitPlace): Pick<SubmissionStart, "queues"> {
  const names = queuesFor(place).map(({ name }) => name);
  return names.length === 0 ? {} : { queues: names };
}

/** Returns the offer by which an account submits, with the version whose price it pays. */
function offerNameOf({ offer: chosen }: PreparedCall): Pick<SubmissionStart, "offer"> {
  if (chosen === null) return {};
  const { name, version } = chosen.offer;
  return { offer: { name, version } };
}

/** Returns how the body of a call is read: JSON into memory, and the form of a client that does not wait, into storage. */
function bodySource(
  call: UpstreamCall,
  submission: ReservedFor,
  memory: BodyReservation,
  pending: PendingCall,
): BodySource {
  const storeForm = async () => {
    await requireFunds(submission);
    return await pending.storeForm(call, submission.runtime.config.maxAsyncBytes);
  };
  const reserve = reserving(memory, submission);
  const { offers } = submission;
  return { offers, reserve, storeForm: call.isAsync ? storeForm : null };
}

/** Returns what decides which texts in the upstream's response are hidden. */
function secretsOf(
  place: SubmitPlace,
  fields: ReadonlyMap<string, string>,
  isOfAccount: boolean,
): SecretsOfCall {
  const url = fields.get(hookParametersOf(place)?.parameter ?? "");
  const hookToken = url === undefined ? null : url.slice(url.lastIndexOf("/") + 1);
  return { hasCustomerKey: place.credential !== null, isOfAccount, hookToken };
}

/**
 * Tells whether the upstream can send a hook about the job that a call starts: the call must have the relay's hook URL,
 * and this URL must be reachable for the upstream, if only because both run on the same machine. Without a hook,
 * nothing shows whether a submission that was not answered has started a job.
 */
function canHookCome(
  fields: ReadonlyMap<string, string>,
  { connection }: SubmitPlace,
  submitCall: SubmitCall,
): boolean {
  if (fields.size === 0) return false;
  return canHooksArrive(submitCall) || isLoopback(new URL(connection.baseUrl));
}

/** Returns short hashes of all links in a call: those that the caller has sent, and those that the relay sets. */
function inputLinksOf(
  { linkDigests }: PreparedCall,
  fields: ReadonlyMap<string, string>,
): Pick<SubmissionStart, "inputLinks"> {
  const own = [...fields.values()].filter(isHttpUrl).map(linkDigest);
  const all = [...own, ...linkDigests];
  return all.length === 0 ? {} : { inputLinks: all };
}

/**
 * Returns the registration of a submission's task. For an account the price is that of its offer; an operator states
 * the price in the request.
 */
function registrationOf(
  asked: RelayHeaders,
  prepared: PreparedCall,
  place: SubmitPlace,
  submitCall: SubmitCall,
): Registering["registration"] {
  const account = accountOf(submitCall.caller);
  const accountId = account ?? asked.accountId;
  const price = account === null ? askedPrice(asked, place) : (prepared.offer?.offer.price ?? null);
  if (price !== null) requireName(asked, submitCall);
  return {
    callbackUrl: callbackUrlOf(asked, prepared, place, submitCall, accountId !== null),
    ...requireSchedule(
      asked.callbackScheduleMs,
      submitCall.runtime.config,
      "/Relay-Callback-Schedule",
    ),
    ...statedEvents(asked.callbackEvents),
    provider: place.connection.name,
    parameters: prepared.parameters,
    metadata: asked.metadata,
    deadlineAt: asked.deadlineAtS === null ? null : asked.deadlineAtS * SECOND_MS,
    accountId,
    ...chargeOf(price),
  };
}

/**
 * Checks that a submission with a price has an `Idempotency-Key` or a task id, so that a repeated submission is
 * recognised and not charged again.
 */
function requireName({ taskId }: RelayHeaders, { idempotencyKey }: SubmitCall): void {
  if (taskId !== null || idempotencyKey !== null) return;
  const message = "is required for a submission with a price";
  throw invalidRequest([{ path: "/Idempotency-Key", message }]);
}

/** Returns the price that an operator states for a submission; null when it costs nothing. */
function askedPrice({ price }: RelayHeaders, { connection }: SubmitPlace): Price | null {
  const { header, value } = price ?? { header: "", value: null };
  requireUsageName(value, connection, `/${header}/per/usage`);
  return value;
}

/**
 * Returns a hash by which a repeated submission is recognised, and the customer's encrypted key, which the task stores.
 * The same call with another key counts as another submission, because another account at the upstream would pay for
 * it.
 */
async function identityOf(
  { connection, credential }: SubmitPlace,
  { requestDigest }: PreparedCall,
  taskId: string,
  { keyring }: Runtime,
): Promise<Pick<SubmissionStart, "requestDigest" | "customerKey">> {
  if (credential === null) return { requestDigest };
  const { key } = credential;
  const place = { taskId, connection: connection.name };
  // With the id, equal calls of different tasks do not show by equal digests that they have the same key.
  const digest = await sha256(`${requestDigest}\n${taskId}\n${key}`);
  return {
    requestDigest: toBase64Url(digest),
    customerKey: await sealKey(key, place, keyring.sealingKeys),
  };
}

/**
 * Returns the id of the task of a submission with an `Idempotency-Key`. The same `Idempotency-Key` of two accounts
 * gives two different ids.
 */
function idOf(caller: Caller, key: string): Promise<string> {
  const account = accountOf(caller);
  return idOfKey(readerOf(caller), account === null ? key : `${account}\n${key}`);
}

/**
 * Returns the `callback_url` of a submission's task: the URL in the header `Relay-Callback-Url` or, without this
 * header, the URL in the provider's own hook field, where the relay puts its own hook URL instead. In both places a text
 * may stand for an endpoint.
 * @returns null when there is neither.
 */
function callbackUrlOf(
  asked: RelayHeaders,
  prepared: PreparedCall,
  place: SubmitPlace,
  { runtime, origin }: SubmitCall,
  hasAccount: boolean,
): string | null {
  const { callbackUrl: named } = asked;
  const { ownHookUrl } = prepared;
  const path = callbackPathOf(asked, prepared, place);
  if (named !== null && ownHookUrl !== null) {
    const message = "must be left out where the request has the provider's own hook URL";
    throw invalidRequest([{ path, message }]);
  }
  const url = named ?? ownHookUrl;
  const message = refusalForTask(url, runtime, origin, hasAccount);
  if (message !== null) throw invalidRequest([{ path, message }]);
  return url;
}

/** Returns the path by which an error names the place of the `callback_url` in a submission. */
function callbackPathOf(
  { callbackUrl: named }: RelayHeaders,
  { ownHookUrl }: PreparedCall,
  place: SubmitPlace,
): string {
  return ownHookUrl !== null && named === null ? hookPathOf(place) : "/Relay-Callback-Url";
}

/**
 * Returns the texts that the relay sets in the call of a submission: its hook URL and, if the provider accepts them,
 * the id of the task, which hooks then contain, and the secret with which the provider is to sign hooks.
 */
async function fieldsOf(
  place: SubmitPlace,
  { takesHookUrl }: PreparedCall,
  taskId: string,
  submissionId: string,
  submitCall: SubmitCall,
): Promise<ReadonlyMap<string, string>> {
  const { connection, credential } = place;
  const hooks = hookParametersOf(place);
  if (hooks === null || !takesHookUrl) return new Map();
  const submission = { submissionId, hasCustomerKey: credential !== null };
  const url = await hookUrl(connection, taskId, submission, submitCall);
  const { idParameter, parameter, secretParameter } = hooks;
  const fields = new Map([[parameter, url]]);
  if (idParameter !== null) fields.set(idParameter, taskId);
  if (secretParameter !== undefined && connection.webhookSecret !== null) {
    fields.set(secretParameter, connection.webhookSecret);
  }
  return fields;
}
