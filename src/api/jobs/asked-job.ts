/**
 * Parts that all calls of clients about their submitted jobs share, whether a call reads the job, cancels it or reads
 * its output.
 */
import * as z from "zod/mini";
import type { Env } from "../../env.ts";
import { parseJson } from "../../core/json.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import type { JobQuestion } from "../../objects/task/job-reply.ts";
import { jobObject } from "../../objects/object-names.ts";
import { type JobCallAdapter, type NamedJob, servedCalls } from "../../providers/job-calls.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import type { Connection, UpstreamProvider } from "../../providers/provider.ts";
import { bytesOf } from "../../security/encoding.ts";
import { contentToClient } from "../http/client-stream.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { type Call, NoQuery } from "../operation.ts";
import { readCustomerKey } from "../submit/customer-credential.ts";
import { offersTo } from "../offers/offers-of-relay.ts";
import { requireConnection } from "../submit/submit-place.ts";
import { NOT_AGAIN } from "../submit/submitted.ts";
import { UpstreamCall } from "../submit/upstream-call.ts";
import { hiddenConnection } from "../tasks/connection.ts";

/**
 * Response to a call about a job, for the caller: the upstream's own, or one of the relay in the form of the
 * upstream's.
 */
export interface JobAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Body of the response. Null when it has none. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** Input of the operations with such calls: the name of the connection, and the call. */
export const ABOUT_JOB = {
  params: ["connection"],
  query: NoQuery,
  body: z.instanceof(UpstreamCall),
} as const;

/** Call of an operation about a job, or of the operation that makes auxiliary calls. */
export type CallAboutJob = Call<"connection", object, UpstreamCall>;

/** The connection to which a call about a job goes, with its provider and the provider's adapter for such calls. */
export interface JobPlace {
  readonly connection: Connection;
  readonly provider: UpstreamProvider;
  readonly adapter: JobCallAdapter;
  /**
   * True when the caller is an account to which nothing is offered at the connection. It still reaches the jobs that it
   * has submitted there before, but learns of nothing else.
   */
  readonly isHidden: boolean;
}

/** Value in seconds of `Retry-After` when an upstream's response without this header is hidden from the caller. */
const HIDDEN_RETRY_AFTER_S = "60";
/**
 * Largest body in bytes of a response that is read for a code of an error. Some upstreams send such a code with HTTP
 * status 200, so that each response about a job is read, also a long one with outputs.
 */
const MAX_FAULT_BYTES = 16_384;
/** Message in place of a hidden response. The job of the call, if there is one, may be running. */
const HIDDEN_MESSAGE = "The service cannot answer this call at the moment.";
const READ_TASK =
  "The relay asks the upstream itself: read the task at /v1/tasks/{id}, whose id is in the header Relay-Task-Id of the submission's answer.";

/**
 * Returns the connection to which a call about a job goes, with the provider's adapter for such calls.
 * @throws Problem `not_found` when there is no such connection, or its provider has no such calls; `not_configured`
 * when the connection is disabled.
 */
export async function requireJobPlace(call: CallAboutJob): Promise<JobPlace> {
  const { config } = call.runtime;
  const name = call.params.connection;
  const offers = await offersTo(call.caller, name, call);
  const isHidden = offers?.isEmpty === true;
  if (isHidden && !config.connections.has(name)) throw hiddenConnection(name);
  const connection = requireConnection(name, config, offers === null);
  const { provider } = connection;
  const adapter = provider.polls === null ? undefined : provider.jobCalls;
  if (provider.polls === null || adapter === undefined) {
    throw isHidden ? hiddenConnection(name) : new Problem("not_found", { detail: READ_TASK });
  }
  return { connection, provider, adapter, isHidden };
}

/** Refuses a call about anything but a job of the caller, at a connection that the caller must not learn of. */
export function requireShown({ connection, isHidden }: JobPlace): void {
  if (isHidden) throw hiddenConnection(connection.name);
}

/**
 * Returns the id of the task to which a job belongs.
 * @returns null when the job was not submitted through the relay.
 */
export async function taskOfJob(
  { name }: Connection,
  jobId: string,
  env: Env,
): Promise<string | null> {
  return await callObject<string | null>(() => jobObject(env, name, jobId).task(jobId));
}

/**
 * Returns what the task's object must know of a call about a job: which job it is, and the customer's own key for the
 * upstream, if the call has one.
 */
export function questionOf(
  { connection: { name }, provider }: JobPlace,
  { headers, keyOwner }: UpstreamCall,
  { jobId, endpoint, target = "" }: NamedJob & { readonly target?: string },
): JobQuestion {
  const read = keyOwner === "customer" ? readCustomerKey(headers, provider) : null;
  const ownKey = read?.ok === true ? read.value.key : null;
  return { connection: name, jobId, endpoint, target, ownKey };
}

/** Returns the response to a call about a job that the relay does not support. It lists the supported calls. */
export function notServed(place: JobPlace): JobAnswer {
  requireShown(place);
  const { adapter } = place;
  const calls = servedCalls(adapter);
  const served =
    calls.length === 0
      ? "The relay answers no GET of this upstream, which reads jobs by POST."
      : `The relay answers ${calls.join(", ")}.`;
  return errorAnswer(adapter, 404, `${served} ${READ_TASK}`);
}

/** Returns the response to a call about a job that was not submitted through the relay by this caller. */
export function unknownJob(place: JobPlace): JobAnswer {
  requireShown(place);
  return errorAnswer(place.adapter, 404, "No job with this id was submitted through the relay.");
}

/** Returns the response with an error of the relay itself, in the form that the upstream's errors have. */
export function errorAnswer(
  { errorBody }: JobCallAdapter,
  status: number,
  message: string,
  own: Readonly<Record<string, string>> = {},
): JobAnswer {
  const headers = new Headers({ "Content-Type": "application/json", ...own });
  return { status, headers, bytes: bytesOf(JSON.stringify(errorBody(status, message))) };
}

/**
 * Returns the response that replaces an upstream's answer about the operator's balance or key at the upstream, because
 * an account must not read such an answer. Null for any other answer, for an operator, and for a call with the
 * customer's own key.
 */
export function hiddenFault(
  { status, headers, bytes }: Pick<SubmitAnswer, "status" | "headers" | "bytes">,
  { adapter, provider }: JobPlace,
  hasOwnKey: boolean,
  caller: Caller,
): JobAnswer | null {
  if (hasOwnKey || accountOf(caller) === null) return null;
  const json =
    bytes.length > MAX_FAULT_BYTES ? undefined : parseJson(new TextDecoder().decode(bytes));
  const refusal = provider.submits?.refusal(status, json) ?? null;
  if (!isAboutAccount(refusal)) return null;
  const wait = { "Retry-After": headers.get("Retry-After") ?? HIDDEN_RETRY_AFTER_S, ...NOT_AGAIN };
  return errorAnswer(adapter, 503, HIDDEN_MESSAGE, wait);
}

export function responseOf({ status, headers, bytes }: JobAnswer): Response {
  if (bytes === null) return new Response(null, { status, headers });
  return new Response(contentToClient(bytes), { status, headers });
}
