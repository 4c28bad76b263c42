/** What the calls of clients about jobs that they have submitted have in common, whatever they ask for. */
import type { Env } from "../../env.ts";
import { accountOf } from "../../objects/task/caller.ts";
import type { JobQuestion } from "../../objects/task/job-reply.ts";
import { jobObject } from "../../objects/object-names.ts";
import { type JobCallAdapter, type NamedJob, servedCalls } from "../../providers/job-calls.ts";
import type { Connection, UpstreamProvider } from "../../providers/provider.ts";
import { bytesOf } from "../../security/encoding.ts";
import { contentToClient } from "../http/client-stream.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import type { Call } from "../operation.ts";
import { readCustomerKey } from "../submit/customer-credential.ts";
import { requireConnection } from "../submit/submit-place.ts";
import type { UpstreamCall } from "../submit/upstream-call.ts";

/** An upstream's answer to a call about a job, or one of the relay in the upstream's form, for the caller. */
export interface PassedAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Null for an answer without a body. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** Call of an operation about a job, or of an upload. */
export type CallAboutJob = Call<"connection", object, UpstreamCall>;

/** The connection of a call about a job, and how its provider takes such calls. */
export interface JobPlace {
  readonly connection: Connection;
  readonly provider: UpstreamProvider;
  readonly adapter: JobCallAdapter;
}

const READ_TASK =
  "The relay asks the upstream itself: read the task at /v1/tasks/{id}, whose id is in the header Relay-Task-Id of the submission's answer.";

/**
 * Returns the connection of a call, and how its provider takes calls about jobs.
 * @throws Problem `not_found` when there is no such connection, or it takes none; `not_configured` when it is disabled.
 */
export function requireJobPlace({ caller, params, runtime }: CallAboutJob): JobPlace {
  const isOperator = accountOf(caller) === null;
  const connection = requireConnection(params.connection, runtime.config, isOperator);
  const { provider } = connection;
  const adapter = provider.polls === null ? undefined : provider.jobCalls;
  if (provider.polls === null || adapter === undefined) {
    throw new Problem("not_found", { detail: READ_TASK });
  }
  return { connection, provider, adapter };
}

/** Returns the id of the task to which a job belongs. Null for a job that was not submitted through the relay. */
export async function taskOfJob(
  { name }: Connection,
  jobId: string,
  env: Env,
): Promise<string | null> {
  return await callObject<string | null>(() => jobObject(env, name, jobId).task());
}

/** Returns what the task's object is told about a call: the job, and the caller's own key of the upstream. */
export function questionOf(
  { connection: { name }, provider }: JobPlace,
  { headers, keyOwner }: UpstreamCall,
  { jobId, endpoint, target = "" }: NamedJob & { readonly target?: string },
): JobQuestion {
  const read = keyOwner === "customer" ? readCustomerKey(headers, provider) : null;
  const ownKey = read?.ok === true ? read.value.key : null;
  return { connection: name, jobId, endpoint, target, ownKey };
}

/** Returns the answer to a call that the relay does not serve, which says what it serves. */
export function notServed({ adapter }: JobPlace): PassedAnswer {
  const calls = servedCalls(adapter);
  const served =
    calls.length === 0
      ? "The relay answers no GET of this upstream, which reads jobs by POST."
      : `The relay answers ${calls.join(", ")}.`;
  return errorAnswer(adapter, 404, `${served} ${READ_TASK}`);
}

/** Returns the answer about a job that the caller has not submitted through the relay. */
export function unknownJob({ adapter }: JobPlace): PassedAnswer {
  return errorAnswer(adapter, 404, "No job with this id was submitted through the relay.");
}

/** Returns an error that the relay itself reports, in the form of the upstream's errors. */
export function errorAnswer(
  { errorBody }: JobCallAdapter,
  status: number,
  message: string,
  own: Readonly<Record<string, string>> = {},
): PassedAnswer {
  const headers = new Headers({ "Content-Type": "application/json", ...own });
  return { status, headers, bytes: bytesOf(JSON.stringify(errorBody(status, message))) };
}

export function responseOf({ status, headers, bytes }: PassedAnswer): Response {
  if (bytes === null) return new Response(null, { status, headers });
  return new Response(contentToClient(bytes), { status, headers });
}
