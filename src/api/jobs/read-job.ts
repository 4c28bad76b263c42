import type { Runtime } from "../../config/runtime.ts";
import { parseJson } from "../../core/json.ts";
import { isAboutAccount } from "../../core/record/refusal.ts";
import { isAbout } from "../../core/record/upstream.ts";
import { SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { accountOf } from "../../objects/task/caller.ts";
import type { JobQuestion, JobReply } from "../../objects/task/job-reply.ts";
import {
  jobCallOf,
  type JobStream,
  type NamedJob,
  type ReadCall,
} from "../../providers/job-calls.ts";
import { type Observation, phaseIn } from "../../providers/observation.ts";
import { readPollAnswer } from "../../providers/poll-answer.ts";
import { type Connection, secretsOf } from "../../providers/provider.ts";
import { hiddenTexts } from "../../security/hidden-texts.ts";
import { hookToken } from "../../security/hook-token.ts";
import { operation } from "../operation.ts";
import { bytesWithout } from "../../outbound/answer-secrets.ts";
import { passedHeaders } from "../submit/sent-headers.ts";
import { taskClient } from "../tasks/task-client.ts";
import {
  ABOUT_JOB,
  type CallAboutJob,
  errorAnswer,
  hiddenFault,
  type JobPlace,
  notServed,
  type JobAnswer,
  questionOf,
  requireJobPlace,
  taskOfJob,
  unknownJob,
} from "./asked-job.ts";
import { submitBaseOf, withRelayLinks } from "./relay-links.ts";

/** Result of a call that reads a job: the response and, if the call asks for one, a stream. */
export interface JobRead {
  readonly answer: JobAnswer;
  /** The stream that the call asks for, with the response as its first event. Null when the call asks for none. */
  readonly stream: AnswerStream | null;
}

/** A stream of the upstream's responses about a job. */
export interface AnswerStream extends Pick<JobStream, "isLast"> {
  /** Shortest time in milliseconds between two requests to the upstream about the same job. */
  readonly gapMs: number;
}

/** Largest body in bytes of an upstream's response about a job that an isolate keeps in memory. */
const MAX_KEPT_BYTES = 16_384;
const MAX_KEPT = 500;
/**
 * Responses about jobs that this isolate has passed on within the last second, by connection, call and caller. Thanks
 * to them, many readers of one job cause few calls to the Durable Object of its task.
 */
const recent = isolateCache<JobAnswer>(MAX_KEPT, SECOND_MS);

/**
 * Returns the upstream's response to a call of its own API that reads a job, for the operator or the account that has
 * submitted the job. The upstream is asked at each path at most once within the time that it demands between two polls of
 * a job.
 */
export const readJob = operation(
  "readJob",
  {
    access: "read",
    ...ABOUT_JOB,
  },
  async (call: CallAboutJob): Promise<JobRead> => {
    const { body } = call;
    const place = await requireJobPlace(call);
    const read = jobCallOf(place.adapter, "GET", body.path, body.query);
    if (read?.kind !== "read" && read?.kind !== "stream") {
      return { answer: notServed(place), stream: null };
    }
    const isLast = read.kind === "stream" ? place.adapter.stream?.isLast : undefined;
    const { gapMs } = place.provider.polls;
    const stream = isLast === undefined ? null : { isLast, gapMs };
    const kept = recent.get(keyOf(call, read.target));
    if (kept !== undefined) {
      return { answer: { ...kept, headers: new Headers(kept.headers) }, stream };
    }
    const taskId = await taskOfJob(place.connection, read.jobId, call.env);
    const answer = taskId === null ? unknownJob(place) : await readNow(call, place, taskId, read);
    return { answer, stream };
  },
);

/**
 * Returns the key of a response in the cache of recent responses. The key contains the caller, so that each caller gets
 * only its own responses.
 */
function keyOf({ caller, params }: CallAboutJob, target: string): string {
  return `${params.connection}\n${target}\n${caller.kind}:${accountOf(caller) ?? ""}`;
}

/** Reads a job without using responses that this isolate has recently passed on. */
export async function readNow(
  call: CallAboutJob,
  place: JobPlace,
  taskId: string,
  read: Omit<ReadCall, "kind">,
): Promise<JobAnswer> {
  const answer = await answerOf(call, place, taskId, read);
  if ((answer.bytes?.length ?? 0) <= MAX_KEPT_BYTES) recent.set(keyOf(call, read.target), answer);
  return { ...answer, headers: new Headers(answer.headers) };
}

async function answerOf(
  { body, caller, env, origin, runtime }: CallAboutJob,
  place: JobPlace,
  taskId: string,
  read: Omit<ReadCall, "kind">,
): Promise<JobAnswer> {
  const { connection } = place;
  const question = questionOf(place, body, read);
  const reply = await taskClient(env, taskId).readJob(question, caller);
  if (reply.kind !== "answer") return errorOf(reply, place);
  const { status, headers, bytes } = reply;
  const hasOwnKey = reply.hasCustomerKey || question.ownKey !== null;
  const isOfAccount = caller.kind === "account";
  const report = isOfAccount && !hasOwnKey ? reportIn(reply, place, read) : null;
  const hidden = hiddenFault({ status, headers, bytes }, place, hasOwnKey, caller);
  if (hidden !== null && report === null) return hidden;
  const secrets = await hiddenOf(reply, taskId, question, connection, runtime, isOfAccount);
  const shown = bytesWithout([...secrets, ...accountTextOf(report)], bytes);
  const linked = withRelayLinks(shown, connection, submitBaseOf(connection, runtime, origin));
  const passed = passedHeaders(headers);
  passed.set("Relay-Task-Id", taskId);
  return { status, headers: passed, bytes: linked };
}

/**
 * Returns what an upstream's response says about the state of the job, as a poll would read it. Null when it says
 * nothing about it, e.g. because the upstream refuses the call.
 */
function reportIn(
  { status, headers, bytes }: Extract<JobReply, { readonly kind: "answer" }>,
  { connection: { baseUrl }, provider: { polls } }: JobPlace,
  { jobId: id, endpoint }: NamedJob,
): Observation | null {
  const answer = { status, headers, body: parseJson(new TextDecoder().decode(bytes)) };
  const job = { id, endpoint };
  const reading = readPollAnswer(polls, answer, job, baseUrl);
  if (reading.kind !== "observed" || !isAbout(job, reading.observation.jobId)) return null;
  return phaseIn(reading.observation) === null ? null : reading.observation;
}

/**
 * Returns the text with which a report says that the job has failed because of the operator's balance or key at the
 * upstream. Empty when it says no such thing.
 */
function accountTextOf(report: Observation | null): readonly string[] {
  const { refusal = null, text = null } = report?.error ?? {};
  return isAboutAccount(refusal) ? hiddenTexts(text) : [];
}

function errorOf(
  reply: Exclude<JobReply, { readonly kind: "answer" }>,
  place: JobPlace,
): JobAnswer {
  const { adapter } = place;
  switch (reply.kind) {
    case "unknown_job":
      return unknownJob(place);
    case "unanswered":
      return errorAnswer(adapter, 504, "The upstream has not answered the relay.");
    case "withheld": {
      const message =
        "The relay has ended the task of this job as failed and given its price back. GET /v1/tasks/{id} says why.";
      return errorAnswer(adapter, 410, message);
    }
    case "limited": {
      const message = "The upstream permits the relay no request about this job yet.";
      const wait = { "Retry-After": `${Math.ceil(reply.waitMs / SECOND_MS)}` };
      return errorAnswer(adapter, 429, message, wait);
    }
  }
}

/**
 * Returns the texts that a response must not show to the caller: the customer's key in the call and, when the caller is
 * an account, also the secrets of the connection and the tokens of the task's hook URL, with which the account could
 * report a result itself.
 */
async function hiddenOf(
  { submissionId, hasCustomerKey }: Extract<JobReply, { readonly kind: "answer" }>,
  taskId: string,
  { ownKey }: JobQuestion,
  connection: Connection,
  { keyring }: Runtime,
  isOfAccount: boolean,
): Promise<readonly string[]> {
  if (!isOfAccount) return hiddenTexts(ownKey);
  const token = { submissionId, hasCustomerKey };
  const tokens = keyring.hookKeys.map((each) => hookToken(connection.name, taskId, token, [each]));
  return hiddenTexts(...(await Promise.all(tokens)), ownKey, ...secretsOf(connection));
}
