import { concatUint8Arrays } from "uint8array-extras";
import { MINUTE_MS } from "../core/time.ts";

/** Longest time in milliseconds for which a client may leave a piece of a response unread. */
export const MAX_UNREAD_MS = MINUTE_MS;
/**
 * Time in milliseconds after which no further piece is sent of a response that holds memory. Without this limit, a client
 * that reads each piece slowly could keep the memory for hours.
 */
export const MAX_READ_MS = 5 * MINUTE_MS;

/** The first bytes of a stream, up to its end or a limit. */
export interface StreamStart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * True when reading ended before the end of the stream or the limit, because the stream or the `onRead` of the reader
   * failed, or because the signal aborted.
   */
  readonly isBroken: boolean;
}

/**
 * Reads a stream until its end, its failure or `maxBytes`, and cancels the rest. The bytes that arrive are counted;
 * `Content-Length` is not trusted.
 * @param onRead is called after each part, with the number of bytes so far. The next part is read once the promise that
 * it returns is fulfilled. When it throws, reading ends and `isBroken` is true.
 * @param signal ends reading when it aborts; `isBroken` is then true.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  onRead?: (bytes: number) => Promise<void>,
  signal?: AbortSignal,
): Promise<StreamStart> {
  if (stream === null) return { bytes: new Uint8Array(), isBroken: false };
  // A loop of `for await` needs more CPU time for each part.
  const reader = stream.getReader();
  // Ends a read that waits, as if the stream were at its end.
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
  const chunks: Uint8Array[] = [];
  let [length, isBroken] = [0, false];
  try {
    while (length < maxBytes) {
      const { done, value } = await reader.read();
      if (done) return { bytes: concatUint8Arrays(chunks), isBroken: signal?.aborted === true };
      chunks.push(value.subarray(0, maxBytes - length));
      length += value.length;
      if (length < maxBytes) await onRead?.(length);
    }
  } catch {
    isBroken = true;
  }
  await reader.cancel().catch(() => undefined);
  return { bytes: concatUint8Arrays(chunks), isBroken };
}

const DIGITS = /^\d+$/;

/**
 * Reads the body of a request or of an answer until its end, its failure or `maxBytes`. An uncompressed body whose
 * declared length is at most `maxBytes` is read in one call, which needs less CPU time than a call for each chunk; if
 * this fails, no bytes are returned. Such a body cannot be longer than declared, because the connection ends it at that
 * length (RFC 9112, section 6.3). A compressed body can become longer, because the runtime decompresses it.
 * @param signal ends reading when it aborts; `isBroken` is then true.
 */
export async function readBodyUpTo(
  message: Request | Response,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<StreamStart> {
  const declared = message.headers.get("Content-Length") ?? "";
  const isSmall = DIGITS.test(declared) && Number(declared) <= maxBytes;
  if (!isSmall || message.headers.has("Content-Encoding")) {
    return readUpTo(message.body, maxBytes, undefined, signal);
  }
  try {
    const whole = message.arrayBuffer();
    const buffer = signal === undefined ? whole : Promise.race([whole, rejectedBy(signal)]);
    return { bytes: new Uint8Array(await buffer), isBroken: false };
  } catch {
    return { bytes: new Uint8Array(), isBroken: true };
  }
}

/** Returns a promise that is rejected when the signal aborts. */
function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/**
 * Returns a stream of these parts as the body of a request. It tells its reader the length of the body. The parts are not
 * copied.
 */
export function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const { readable, writable } = new FixedLengthStream(length);
  const write = async () => {
    const writer = writable.getWriter();
    for (const part of parts) await writer.write(part);
    await writer.close();
  };
  // When the reader ends the reading early, it knows.
  write().catch(() => undefined);
  return readable;
}

/**
 * Returns a stream of which the first pieces were read already, whole again.
 * @param rest what follows them. When it fails, the returned stream fails too.
 * @param length number of bytes of the whole, which the stream tells its reader. Null when it is not known.
 */
export function streamWithStart(
  pieces: readonly Uint8Array[],
  rest: ReadableStream<Uint8Array>,
  length: number | null,
): ReadableStream<Uint8Array> {
  const { readable, writable } =
    length === null ? new IdentityTransformStream() : new FixedLengthStream(length);
  const pass = async () => {
    const writer = writable.getWriter();
    for (const piece of pieces) await writer.write(piece);
    writer.releaseLock();
    await rest.pipeTo(writable);
  };
  // When the reader ends the reading early, it knows. The sender of the rest learns it.
  pass().catch((error: unknown) => rest.cancel(error).catch(() => undefined));
  return readable;
}

/** Waits until a client has read a piece of a response. @throws Error when this takes longer than a minute. */
export async function readInTime(read: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unreadError()), MAX_UNREAD_MS);
  try {
    await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the error that ends a response of which the client leaves a piece unread for too long. */
export function unreadError(): Error {
  return new Error("the client does not read the stream");
}
