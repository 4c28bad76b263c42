import type { Runtime } from "../../config/runtime.ts";
import { streamOf } from "../../lib/stream.ts";
import { answerSecrets, bytesWithout } from "../../outbound/answer-secrets.ts";
import { keptAnswerOf } from "../../outbound/submit-outcome.ts";
import { LEAST_READ_BYTES, SourceReader } from "../output/store-copy.ts";
import type { CallEnd, StoredCall } from "./call-plan.ts";
import { MAX_ANSWER_BYTES } from "./store-answer.ts";
import { type CallPlace, type FileStore, storedResult } from "./stored-result.ts";
import type { WaitingCaller } from "./waiting-caller.ts";

/**
 * Reads an answer that should be the result of a call, and passes it on to the caller who waits: a short one together
 * with its outcome, a long one piece by piece. Returns how the call has ended.
 * @throws when the upstream has broken off a short answer.
 */
export async function passedResult(
  response: Response,
  call: StoredCall,
  place: CallPlace,
  runtime: Runtime,
  store: FileStore,
  caller: WaitingCaller,
): Promise<CallEnd> {
  const { status, headers, body } = response;
  const secrets = answerSecrets(place.connection, call.secrets);
  const read = (stream: ReadableStream<Uint8Array>) =>
    storedResult({ status, headers, body: stream }, call, place, runtime, store);
  const source = sourceOf(body, store);
  try {
    const start = await source.read();
    if (start !== null && start.length >= LEAST_READ_BYTES) {
      caller.begin(response, secrets);
      return await passedOn(start, source, caller, read);
    }
    const bytes = new Uint8Array(start ?? []);
    const shown = bytesWithout(secrets, bytes);
    const answer = { status, headers, bytes: shown, json: undefined, isCut: false };
    caller.keep(answer);
    const { outcome, hasFiles } = await read(streamOf([bytes]));
    return outcome.kind === "result"
      ? { outcome: { ...outcome, answer: keptAnswerOf(answer) }, hasFiles }
      : { outcome, hasFiles };
  } finally {
    source.leave();
  }
}

function sourceOf(body: Response["body"], { signal }: FileStore): SourceReader {
  const limits = { maxBytes: MAX_ANSWER_BYTES, onProgress: () => undefined, signal };
  return new SourceReader(body ?? streamOf([]), limits);
}

/**
 * Passes on a long answer while it is read. Whether it is a result, and whether the caller is still there, does not
 * depend on each other.
 */
async function passedOn(
  start: Uint8Array,
  source: SourceReader,
  caller: WaitingCaller,
  read: (stream: ReadableStream<Uint8Array>) => Promise<CallEnd>,
): Promise<CallEnd> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const end = read(readable);
  try {
    for (let piece: Uint8Array | null = start; piece !== null; piece = await source.read()) {
      // The caller comes first, because reading a picture takes time.
      await caller.write(piece);
      // The reader stops taking pieces when the answer is no result; the caller still gets them.
      await writer.write(piece).catch(() => undefined);
    }
    await writer.close().catch(() => undefined);
  } catch (error) {
    await Promise.all([caller.breakOff(), writer.abort(error).catch(() => undefined)]);
  }
  return await end;
}
