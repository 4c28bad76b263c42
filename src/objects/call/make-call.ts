import type { Runtime } from "../../config/runtime.ts";
import type { SubmitOutcome } from "../../core/events/event.ts";
import { errorText, log } from "../../lib/log.ts";
import { answerSecrets, withoutSecrets } from "../../outbound/answer-secrets.ts";
import { readSubmitAnswer, sendSubmission, type SubmitAnswer } from "../../outbound/http.ts";
import { simulatedAnswer } from "../../outbound/simulated-answer.ts";
import { keptAnswerOf, outcomeOf } from "../../outbound/submit-outcome.ts";
import { connectionOf, keyHeadersOf } from "../../outbound/upstream-connection.ts";
import { asMember, type Connection } from "../../providers/provider.ts";
import { submitAdapterOf } from "../../providers/submit-target.ts";
import type { LeftUpload } from "../output/copy-plan.ts";
import type { CallEnd, SendingCall, StoredCall } from "./call-plan.ts";
import { passedResult } from "./passed-result.ts";
import { type CallPlace, type FileBucket, storedResult } from "./stored-result.ts";
import type { WaitingCaller } from "./waiting-caller.ts";

/** What is needed to make a call besides the call itself. */
export interface CallContext {
  readonly runtime: Runtime;
  /** Returns the body of the call. It is called at most once. */
  readonly body: () => ReadableStream<Uint8Array>;
  /** Ends the call, and the reading of its answer. */
  readonly signal: AbortSignal;
  /** Bucket for the files in the answer. Null when the relay keeps no outputs. */
  readonly bucket: FileBucket | null;
  /** Is called with each multipart upload of a file before its first part is stored. */
  readonly onUpload: (upload: LeftUpload) => void;
  /** The caller who waits for the answer. Null when none does. */
  readonly caller: WaitingCaller | null;
}

/** End of a call that was not sent. */
export const NOT_SENT: CallEnd = { outcome: { kind: "not_sent" }, hasFiles: false };

/**
 * Sends a call once, reads the upstream's answer, and returns how the call has ended. It never throws: whatever fails
 * after the call may have been sent, leaves its outcome unknown.
 */
export async function makeCall(sending: SendingCall, context: CallContext): Promise<CallEnd> {
  const { call } = sending;
  const { taskId } = call;
  const connection = await connectionFor(sending, context.runtime);
  const place = connection && placeOf(connection, call.path);
  const headers = place && (await headersOf(place.connection, call));
  if (place === null || headers === null) return NOT_SENT;
  let statusCode: number | null = null;
  try {
    const response = await answerTo(call, place, headers, context);
    statusCode = response.status;
    return await endOf(response, sending, place, context);
  } catch (error) {
    const line = { task_id: taskId, status_code: statusCode, reason: errorText(error) };
    log({ event: "call.unread", ...line }, "warn");
  }
  const hasFiles = call.storesFiles && context.bucket !== null;
  return { outcome: { kind: "unknown", statusCode }, hasFiles };
}

/** Returns the connection of a call: where it has a place, if it was in queues. Null when there is none. */
async function connectionFor(
  { call: { taskId, connection: name }, start: { customerKey, place } }: SendingCall,
  runtime: Runtime,
): Promise<Connection | null> {
  const owner = { taskId, connection: place?.connection ?? name, customerKey };
  const connection = await connectionOf(owner, runtime);
  const addressed = runtime.config.connections.get(name);
  return connection && addressed && place ? asMember(addressed, connection) : connection;
}

/** Returns where a call goes. Null when the relay does not know its path any more. */
function placeOf(connection: Connection, path: string): CallPlace | null {
  const adapter = submitAdapterOf(connection);
  const target = adapter?.target(path) ?? null;
  return adapter === null || target === null ? null : { connection, adapter, target };
}

/** Returns the headers with which a call is sent. Null when those with the key could not be made. */
async function headersOf(connection: Connection, call: StoredCall): Promise<Headers | null> {
  const headers = new Headers(call.headers.map(([name, value]) => [name, value]));
  try {
    for (const [name, value] of Object.entries(await keyHeadersOf(connection))) {
      headers.set(name, value);
    }
  } catch (error) {
    log({ event: "call.failed", task_id: call.taskId, error: errorText(error) }, "error");
    return null;
  }
  const { keyHeader } = call;
  // The customer's own header goes up as it came.
  if (keyHeader !== null) headers.set(keyHeader.name, `${keyHeader.prefix}${connection.key ?? ""}`);
  return headers;
}

/** Sends a call, and returns the upstream's answer. */
async function answerTo(
  { model, path, sentPath }: StoredCall,
  { connection: { provider, baseUrl } }: CallPlace,
  headers: Headers,
  { body, signal }: CallContext,
): Promise<Response> {
  if (provider.polls === null) {
    return await simulatedAnswer(provider.simulation, model, path, signal);
  }
  return await sendSubmission({ url: `${baseUrl}${sentPath}`, headers, body: body() }, signal);
}

/** Reads the upstream's answer to a call. What is a result is stored in the bucket. */
async function endOf(
  response: Response,
  { call, start }: SendingCall,
  place: CallPlace,
  { runtime, signal, bucket, onUpload, caller }: CallContext,
): Promise<CallEnd> {
  if (call.storesFiles && response.ok) {
    const store = { bucket, caller, signal, onUpload, place: { taskId: call.taskId, ...start } };
    if (caller !== null) return await passedResult(response, call, place, runtime, store, caller);
    if (bucket !== null) return await storedResult(response, call, place, runtime, store);
  }
  const isLarge = place.target.answer === "job-or-result";
  const read = await readSubmitAnswer(response, { isLarge }, signal);
  const answer = withoutSecrets(read, answerSecrets(place.connection, call.secrets));
  caller?.keep(answer);
  const outcome = outcomeOf(answer, place, call, runtime.config);
  return { outcome: withAnswer(outcome, answer), hasFiles: false };
}

/** Returns an outcome that keeps the upstream's answer also if it is a refusal, for whoever reads the answer later. */
function withAnswer(outcome: SubmitOutcome, answer: SubmitAnswer): SubmitOutcome {
  const kept = outcome.kind === "refused" ? keptAnswerOf(answer) : null;
  return outcome.kind === "refused" && kept !== null ? { ...outcome, answer: kept } : outcome;
}
