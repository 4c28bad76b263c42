import type { Runtime } from "../../config/runtime.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { POLL_TIMEOUT_MS, withDeadline } from "../../lib/timeout.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { answerSecrets, bytesWithout } from "../../outbound/answer-secrets.ts";
import { get, type SubmitAnswer, type SubmitRequest, upload } from "../../outbound/http.ts";
import { keyHeadersOf } from "../../outbound/upstream-connection.ts";
import { type AuxiliaryCall, jobCallOf } from "../../providers/job-calls.ts";
import { BODY_DEADLINE_MS, bodyTimeout } from "../http/body.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { operation } from "../operation.ts";
import { offersTo } from "../offers/offers-of-relay.ts";
import { refuseRelayKeys } from "../submit/relay-key-refusal.ts";
import { passedHeaders, sentHeaders } from "../submit/sent-headers.ts";
import { requireKey } from "../submit/submit-place.ts";
import {
  ABOUT_JOB,
  type CallAboutJob,
  errorAnswer,
  hiddenFault,
  type JobPlace,
  notServed,
  type JobAnswer,
  requireJobPlace,
  requireShown,
} from "./asked-job.ts";

/**
 * Largest body of an upload in MB, which is also the most that the platform accepts from a client on its usual plans.
 */
const MAX_UPLOAD_MB = 100;
const MAX_UPLOAD_BYTES = MAX_UPLOAD_MB * 1024 * 1024;
/** Longest time in milliseconds for an upload with its response. At 1.5 Mbit/s, 100 MB take less. */
const MAX_UPLOAD_MS = 10 * MINUTE_MS;

/** What the relay uses of the upstream's response to an auxiliary call. */
type AuxiliaryAnswer = Pick<SubmitAnswer, "status" | "headers" | "bytes">;

/**
 * Passes on to the upstream a call of an SDK that is about no job: the upload of a file for a later job, or a lookup.
 * Operators may make such calls, and so may accounts that have an offer for the connection, with `uploads` for what
 * belongs to an upload. No task is created, and nothing is charged.
 */
export const makeAuxiliaryCall = operation(
  "makeAuxiliaryCall",
  {
    access: "submit",
    rateLimit: "LIMIT_SUBMITS",
    ...ABOUT_JOB,
  },
  async (call: CallAboutJob): Promise<JobAnswer> => {
    const { body, caller, runtime } = call;
    const place = await requireJobPlace(call);
    requireShown(place);
    const asked = jobCallOf(place.adapter, body.method, body.path, body.query);
    if (asked?.kind !== "upload" && asked?.kind !== "lookup") return notServed(place);
    const { connection, credential } = requireKey(
      place.connection,
      place.provider,
      body,
      accountOf(caller) === null,
    );
    await refuseRelayKeys(body, runtime);
    if (!(await isOffered(call, place, asked))) return notOffered(place, asked);
    const headers = { ...(await keyHeadersOf(connection)), ...credential?.headers };
    const answer =
      asked.kind === "upload"
        ? await uploadFile(call, place, asked, headers)
        : await lookUp(`${connection.baseUrl}${asked.target}`, headers);
    if (answer === null) {
      return errorAnswer(place.adapter, 504, "The upstream has not answered the relay.");
    }
    const hidden = hiddenFault(answer, place, credential !== null, caller);
    const hasCustomerKey = credential !== null;
    const isOfAccount = accountOf(caller) !== null;
    const about = { hasCustomerKey, isOfAccount, hookToken: null };
    return hidden ?? passedAnswer(answer, answerSecrets(connection, about));
  },
);

function passedAnswer(
  { status, headers, bytes }: AuxiliaryAnswer,
  secrets: readonly string[],
): JobAnswer {
  return { status, headers: passedHeaders(headers), bytes: bytesWithout(secrets, bytes) };
}

/** Returns the upstream's response to a lookup; null when there is none in time, or it is larger than permitted. */
async function lookUp(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<AuxiliaryAnswer | null> {
  const answer = await withDeadline(POLL_TIMEOUT_MS, (signal) => get({ url, headers }, signal));
  if (answer === null || answer.bytes === null) return null;
  return { ...answer, bytes: answer.bytes };
}

/**
 * Uploads the file in a client's call. The file is passed on while it arrives, and never held as a whole.
 * @param own headers that authenticate the call at the upstream.
 * @returns the upstream's response; null when there is none in time.
 */
async function uploadFile(
  { body, caller, runtime }: CallAboutJob,
  place: JobPlace,
  { target }: AuxiliaryCall,
  own: Readonly<Record<string, string>>,
): Promise<AuxiliaryAnswer | null> {
  const length = requireLength(body.headers);
  const contentType = body.headers.get("Content-Type");
  const form = { contentType, isOfAccount: accountOf(caller) !== null };
  const headers = sentHeaders(body.headers, own, form);
  const request = { url: `${baseOf(place)}${target}`, headers, isLarge: false };
  return await passedOn(body.body, length, request, runtime);
}

/** Returns the provider's own origin for uploads; the connection's base URL if there is none or a proxy is used. */
function baseOf({ adapter, connection: { baseUrl }, provider }: JobPlace): string {
  const { uploadOrigin } = adapter;
  const isProviders = provider.baseUrls?.includes(baseUrl) === true;
  return uploadOrigin !== undefined && isProviders ? uploadOrigin : baseUrl;
}

/**
 * Tells whether the caller may make an auxiliary call: as an operator, or as an account with an offer of the connection
 * for jobs with this kind of key (the connection's or the customer's own), and with `uploads` if the call belongs to an
 * upload. Which models the offer has does not matter.
 */
async function isOffered(
  call: CallAboutJob,
  { connection: { name } }: JobPlace,
  { isForUpload }: AuxiliaryCall,
): Promise<boolean> {
  const { keyOwner } = call.body;
  const offers = await offersTo(call.caller, name, call);
  if (offers === null) return true;
  return offers.all.some(
    ({ offer }) => offer.keyOwner === keyOwner && (offer.takesUploads || !isForUpload),
  );
}

/**
 * Returns the response to a lookup that no offer permits.
 * @throws Problem `not_offered` for an upload that no offer permits.
 */
function notOffered(
  { adapter, connection: { name } }: JobPlace,
  { kind, isForUpload }: AuxiliaryCall,
): JobAnswer {
  const detail = `${isForUpload ? "Uploads" : "Calls"} to ${name} are not offered to accounts with this key of the upstream.`;
  if (kind === "upload") throw new Problem("not_offered", { detail });
  return errorAnswer(adapter, 403, detail);
}

/**
 * Returns the number of bytes of an upload, which the client must state, because the upstream has to know it before the
 * first byte.
 * @throws Problem `length_required` when it is not stated; `payload_too_large` when it exceeds the limit;
 * `invalid_request` when the body is compressed.
 */
function requireLength(headers: Headers): number {
  if (headers.has("Content-Encoding")) {
    const message = "is not supported: send the body as it is";
    throw invalidRequest([{ path: "/Content-Encoding", message }]);
  }
  const stated = headers.get("Content-Length") ?? "";
  if (!/^\d{1,15}$/.test(stated)) {
    throw new Problem("length_required", { detail: "An upload must state its Content-Length." });
  }
  const length = Number(stated);
  if (length <= MAX_UPLOAD_BYTES) return length;
  const detail = `An upload may have at most ${MAX_UPLOAD_MB} MB.`;
  throw new Problem("payload_too_large", { detail });
}

/**
 * Passes the body of an upload on to the upstream while it arrives.
 * @returns the upstream's response; null when there is none in time.
 * @throws Problem when the client does not send the whole body.
 */
async function passedOn(
  body: ReadableStream<Uint8Array> | null,
  length: number,
  request: Omit<SubmitRequest, "body">,
  { config }: Runtime,
): Promise<SubmitAnswer | null> {
  const { readable, writable } = new FixedLengthStream(length);
  const stop = new AbortController();
  const sending = sendPieces(body, length, writable, stop.signal);
  void endInTime(sending, config.submitTimeoutMs, stop);
  const sent = { ...request, body: readable };
  const answer = await withDeadline(MAX_UPLOAD_MS, (signal) => upload(sent, signal), stop.signal);
  // Ends the reading of a body that the upstream does not want to its end.
  stop.abort();
  const fault = await sending;
  if (answer === null && fault !== null) throw fault;
  return answer;
}

/**
 * Ends the request to the upstream when the client's body is faulty, or when the upstream has not responded within the
 * time that is allowed after the whole body was sent.
 */
async function endInTime(
  sending: Promise<Problem | null>,
  answerMs: number,
  stop: AbortController,
): Promise<void> {
  if ((await sending) === null) {
    await scheduler.wait(answerMs, { signal: stop.signal }).catch(() => undefined);
  }
  stop.abort();
}

/**
 * Sends a client's body to the upstream piece by piece, so that only one piece is in memory.
 * @returns the fault of the body; null when the whole body was sent, or the upstream accepts no more of it.
 */
async function sendPieces(
  body: ReadableStream<Uint8Array> | null,
  length: number,
  to: WritableStream<Uint8Array>,
  stopped: AbortSignal,
): Promise<Problem | null> {
  const reader = (body ?? new Blob([]).stream()).getReader();
  const writer = to.getWriter();
  stopped.addEventListener("abort", () => {
    void reader.cancel().catch(() => undefined);
    void writer.abort().catch(() => undefined);
  });
  let sent = 0;
  try {
    for (;;) {
      const piece = await nextPiece(reader);
      if (stopped.aborted) return null;
      if (piece instanceof Problem) return piece;
      sent += piece?.length ?? 0;
      if (piece === null ? sent < length : sent > length) return otherLength();
      if (piece === null) break;
      await writer.write(piece);
    }
    await writer.close();
  } catch {
    // The upstream has ended the connection, perhaps because it has answered already.
  }
  return null;
}

/**
 * Reads the next piece of a client's body.
 * @returns null at the end of the body; a problem when no piece arrives in time.
 */
async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | Problem | null> {
  const { promise: late, resolve } = Promise.withResolvers<Problem>();
  const detail = `No part of the body has arrived for ${BODY_DEADLINE_MS / SECOND_MS} seconds.`;
  const timer = setTimeout(() => resolve(bodyTimeout(detail)), BODY_DEADLINE_MS);
  const read = reader.read().then(({ done, value }) => (done ? null : value), otherLength);
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}

function otherLength(): Problem {
  const message = "must be the number of bytes of the body";
  return invalidRequest([{ path: "/Content-Length", message }]);
}
