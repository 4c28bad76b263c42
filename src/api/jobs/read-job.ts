import * as z from "zod/mini";
import type { Runtime } from "../../config/runtime.ts";
import { SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { jobObject } from "../../objects/object-names.ts";
import type { JobQuestion, JobReply } from "../../objects/task/job-reply.ts";
import {
  type JobCall,
  type JobCallAdapter,
  type JobStream,
  readCallOf,
} from "../../providers/job-calls.ts";
import type { Connection } from "../../providers/provider.ts";
import { bytesOf } from "../../security/encoding.ts";
import { hiddenTexts } from "../../security/hidden-texts.ts";
import { hookToken } from "../../security/hook-token.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { type Call, NoQuery, operation } from "../operation.ts";
import { bytesWithout } from "../submit/answer-secrets.ts";
import { passedHeaders } from "../submit/sent-headers.ts";
import { readCustomerKey } from "../submit/customer-credential.ts";
import { requireConnection } from "../submit/submit-place.ts";
import { UpstreamCall } from "../submit/upstream-call.ts";
import { taskClient } from "../tasks/task-client.ts";
import { submitBaseOf, withRelayLinks } from "./relay-links.ts";

/** An upstream's answer to a call about a job, as the relay passes it on to the caller. */
export interface PassedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Result of a call that reads a job. */
export interface JobRead {
  readonly answer: PassedAnswer;
  /** The stream that the call asks for, with the answer as its first event. Null for a call that asks for none. */
  readonly stream: AnswerStream | null;
}

/** A stream of answers about a job. */
export interface AnswerStream extends Pick<JobStream, "isLast"> {
  /** Least time in milliseconds between two requests to the upstream about one job. */
  readonly gapMs: number;
}

type ReadCall = Call<"connection", object, UpstreamCall>;

/** Largest body of an upstream's answer about a job that an isolate keeps in memory, in bytes. */
const MAX_KEPT_BYTES = 16_384;
const MAX_KEPT = 500;
/**
 * Answers about jobs that this isolate has passed on within the last second, by connection, call and caller. They save
 * many readers of one job the calls to the object of its task.
 */
const recent = isolateCache<PassedAnswer>(MAX_KEPT, SECOND_MS);

/**
 * Returns the upstream's answer to a call of its own API that reads a job, for the operator and for the account that
 * has submitted the job. The upstream is asked at most once in the time that it demands between two polls of a job.
 */
export const readJob = operation(
  "readJob",
  {
    access: "read",
    params: ["connection"],
    query: NoQuery,
    body: z.instanceof(UpstreamCall),
  },
  async (call: ReadCall): Promise<JobRead> => {
    const { body, caller, params, runtime } = call;
    const isOperator = accountOf(caller) === null;
    const connection = requireConnection(params.connection, runtime.config, isOperator);
    const { provider } = connection;
    if (provider.polls === null || provider.jobCalls === undefined) {
      throw new Problem("not_found", { detail: READ_TASK });
    }
    const { jobCalls: adapter, polls } = provider;
    const read = readCallOf(adapter, body.path, body.query);
    if (read === null) {
      return { answer: errorAnswer(adapter, 404, served(adapter)), stream: null };
    }
    const reader = `${caller.kind}:${accountOf(caller) ?? ""}`;
    const key = `${connection.name}\n${read.target}\n${reader}`;
    const kept = recent.get(key);
    const answer = kept ?? (await answerOf(call, connection, adapter, read));
    if (kept === undefined && answer.bytes.length <= MAX_KEPT_BYTES) recent.set(key, answer);
    const isLast = read.kind === "stream" ? adapter.stream?.isLast : undefined;
    const stream = isLast === undefined ? null : { isLast, gapMs: polls.gapMs };
    return { answer: { ...answer, headers: new Headers(answer.headers) }, stream };
  },
);

const READ_TASK =
  "The relay asks the upstream itself: read the task at /v1/tasks/{id}, whose id is in the header Relay-Task-Id of the submission's answer.";

function served({ read, stream }: JobCallAdapter): string {
  const paths = [...read, ...(stream === undefined ? [] : [stream.of + stream.ending])];
  const known =
    paths.length === 0
      ? "The relay answers no GET of this upstream, which reads jobs by POST."
      : `The relay answers GET ${paths.join(", ")}.`;
  return `${known} ${READ_TASK}`;
}

async function answerOf(
  { body, caller, env, origin, runtime }: ReadCall,
  connection: Connection,
  adapter: JobCallAdapter,
  { jobId, endpoint, target }: JobCall,
): Promise<PassedAnswer> {
  const { name } = connection;
  const taskId = await callObject<string | null>(() => jobObject(env, name, jobId).task());
  if (taskId === null) return unknownJob(adapter);
  const question: JobQuestion = {
    connection: name,
    jobId,
    endpoint,
    target,
    ownKey: ownKeyOf(body, connection),
  };
  const reply = await taskClient(env, taskId).readJob(question, caller);
  if (reply.kind !== "answer") return errorOf(reply, adapter);
  const { status, headers, bytes } = reply;
  const secrets = await secretsOf(
    reply,
    taskId,
    question,
    connection,
    runtime,
    caller.kind === "account",
  );
  const shown = bytesWithout(secrets, bytes);
  const linked = withRelayLinks(shown, connection, submitBaseOf(connection, runtime, origin));
  const passed = passedHeaders(headers);
  passed.set("Relay-Task-Id", taskId);
  return { status, headers: passed, bytes: linked };
}

function errorOf(
  reply: Exclude<JobReply, { readonly kind: "answer" }>,
  adapter: JobCallAdapter,
): PassedAnswer {
  switch (reply.kind) {
    case "unknown_job":
      return unknownJob(adapter);
    case "unanswered":
      return errorAnswer(adapter, 504, "The upstream has not answered the relay.");
    case "limited": {
      const message = "The upstream permits the relay no request about this job yet.";
      const wait = { "Retry-After": `${Math.ceil(reply.waitMs / SECOND_MS)}` };
      return errorAnswer(adapter, 429, message, wait);
    }
  }
}

function unknownJob(adapter: JobCallAdapter): PassedAnswer {
  return errorAnswer(adapter, 404, "No job with this id was submitted through the relay.");
}

/** Returns an error that the relay itself reports, in the form of the upstream's errors. */
function errorAnswer(
  { errorBody }: JobCallAdapter,
  status: number,
  message: string,
  own: Readonly<Record<string, string>> = {},
): PassedAnswer {
  const headers = new Headers({ "Content-Type": "application/json", ...own });
  return { status, headers, bytes: bytesOf(JSON.stringify(errorBody(status, message))) };
}

/** Returns the caller's own key of the upstream; null when the caller has sent no such key. */
function ownKeyOf({ headers, keyOwner }: UpstreamCall, { provider }: Connection): string | null {
  if (keyOwner !== "customer" || provider.polls === null) return null;
  const read = readCustomerKey(headers, provider);
  return read.ok ? read.value.key : null;
}

/**
 * Returns the texts that an answer must not show to the caller. For every caller this is the customer's key of the
 * call. For an account it is also the tokens of the task's hook URL, with which the account could report a result
 * itself, and the secrets of the connection.
 */
async function secretsOf(
  { submissionId, hasCustomerKey }: Extract<JobReply, { readonly kind: "answer" }>,
  taskId: string,
  { ownKey }: JobQuestion,
  { name, key, webhookSecret }: Connection,
  { keyring }: Runtime,
  isOfAccount: boolean,
): Promise<readonly string[]> {
  if (!isOfAccount) return hiddenTexts(ownKey);
  const token = { submissionId, hasCustomerKey };
  const tokens = keyring.hookKeys.map((each) => hookToken(name, taskId, token, [each]));
  return hiddenTexts(...(await Promise.all(tokens)), ownKey, key, webhookSecret);
}
