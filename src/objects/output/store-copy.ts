import { mediaTypeOf } from "../../core/output-metadata/media-type.ts";
import { errorText, log } from "../../lib/log.ts";
import type { TryResult } from "./copy-plan.ts";
import type { FileOptions, StoreWriter } from "./output-store.ts";

/**
 * Size in bytes of the parts in which an output of unknown length is stored. One part is held in memory. All parts of
 * an upload except the last must have the same size, at least 5 MiB
 * (https://developers.cloudflare.com/r2/objects/multipart-objects/).
 */
export const PART_BYTES = 8 * 1024 * 1024;

/**
 * Size in bytes of the memory into which an output is read from its upstream. It is large because each read needs CPU
 * time, of which an alarm has 30 s, and the platform itself would read only 4 KiB at once.
 */
export const READ_BYTES = 256 * 1024;
/** Number of bytes that one read brings at least, except at the end of an output. */
export const LEAST_READ_BYTES = 64 * 1024;

/** Returns the options with which a file of this media type is stored. */
export function optionsOf(mediaType: string): FileOptions {
  return { httpMetadata: { contentType: mediaType } };
}

/** The calls of a store of outputs that are used to store a copy. */
export type CopyBucket = Pick<StoreWriter, "put" | "createMultipartUpload">;

/** Where the copy of an output is stored, and the limits for making it. */
export interface CopyTarget {
  readonly bucket: CopyBucket;
  readonly key: string;
  readonly maxBytes: number;
  /**
   * Function that is called with the id of a multipart upload before its first part is stored, so that a later try can
   * abort the upload.
   */
  readonly onUpload: (uploadId: string) => void;
  /** Function that is called each time bytes of the output were read or stored. */
  readonly onProgress: () => void;
  /** Signal by whose abort the copying is ended. */
  readonly signal: AbortSignal;
}

/**
 * Reads an output from its upstream and stores it in the bucket. It never throws: every failure is a result. After a
 * failure nothing stays in the bucket, except what it stores of a call that was broken off, and parts of an upload if the
 * bucket fails too.
 * @param bytes length of the output, if the upstream states it; null when it does not.
 */
export async function storeCopy(
  body: ReadableStream<Uint8Array>,
  bytes: number | null,
  target: CopyTarget,
): Promise<TryResult> {
  if (bytes !== null && bytes > target.maxBytes) {
    await body.cancel().catch(() => undefined);
    return TOO_LARGE;
  }
  const source = new SourceReader(body, target);
  try {
    const start = await source.read();
    if (start === null) return failed("empty");
    const mediaType = mediaTypeOf(start);
    const options = optionsOf(mediaType);
    const size =
      bytes === null
        ? await storeParts(start, source, options, target)
        : await storeWhole(start, bytes, source, options, target);
    return { kind: "kept", bytes: size, mediaType };
  } catch (error) {
    if (error instanceof SourceFault) return error.result;
    log({ event: "output.not_stored", key: target.key, error: errorText(error) }, "warn");
    return failed("not_stored");
  } finally {
    source.leave();
  }
}

const TOO_LARGE: TryResult = { kind: "failed", reason: "too_large", isFinal: true };

function failed(reason: "empty" | "unreachable" | "not_stored"): TryResult {
  return { kind: "failed", reason, isFinal: false };
}

/** Error that ends a copy because the upstream fails to send the output, and not because the bucket fails. */
export class SourceFault extends Error {
  readonly result: TryResult;

  constructor(result: TryResult) {
    super("the source of an output failed");
    this.result = result;
  }
}

/** Limits for reading an output from its upstream. */
type SourceLimits = Pick<CopyTarget, "maxBytes" | "onProgress" | "signal">;

/** Reads an output from its upstream piece by piece, and counts its bytes. */
export class SourceReader {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #target: SourceLimits;
  /** Promise that resolves when the copying is ended from outside, even while a read still waits for the upstream. */
  readonly #ended: Promise<"ended">;
  #memory = new ArrayBuffer(READ_BYTES);
  #bytes = 0;

  constructor(body: ReadableStream<Uint8Array>, target: SourceLimits) {
    this.#reader = body.getReader({ mode: "byob" });
    this.#target = target;
    const { promise, resolve } = Promise.withResolvers<"ended">();
    this.#ended = promise;
    if (target.signal.aborted) resolve("ended");
    target.signal.addEventListener("abort", () => resolve("ended"));
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the next bytes of the output: at least `LEAST_READ_BYTES`, except at its end; null when there are no more.
   * They are valid only until the next call, because all calls use the same memory.
   * @throws SourceFault when the upstream fails, when the output is too large, and when the copying is ended.
   */
  async read(): Promise<Uint8Array | null> {
    const read = await Promise.race([this.#next(), this.#ended]).catch(() => "broken" as const);
    if (typeof read === "string" || this.#target.signal.aborted) {
      throw new SourceFault(failed("unreachable"));
    }
    if (read.done) return null;
    const { value } = read;
    this.#memory = value.buffer;
    this.#bytes += value.length;
    this.#target.onProgress();
    if (this.#bytes > this.#target.maxBytes) throw new SourceFault(TOO_LARGE);
    return value;
  }

  /** Ends the download from the upstream without waiting for it, because it may not answer. */
  leave(): void {
    this.#reader.cancel().catch(() => undefined);
  }

  #next() {
    return this.#reader.readAtLeast(LEAST_READ_BYTES, new Uint8Array(this.#memory));
  }
}

/**
 * Stores an output of known length in one call. Returns its size. Does not ask the source for bytes beyond this length.
 *
 * A store stores the file as soon as it has all bytes, also if the stream is broken off afterwards. Once R2 has them, the
 * call therefore ends only with its answer, so that no deletion comes before the file. The call to another store ends
 * with the signal, because nothing else limits its time.
 */
async function storeWhole(
  start: Uint8Array,
  bytes: number,
  source: SourceReader,
  options: FileOptions,
  { bucket, key, signal }: CopyTarget,
): Promise<number> {
  const { readable, writable } = new FixedLengthStream(bytes);
  const stored = bucket.put(key, readable, options, signal);
  // The failure of the writer below may come first.
  stored.catch(() => undefined);
  const writer = writable.getWriter();
  const stop = () => void writer.abort().catch(() => undefined);
  signal.addEventListener("abort", stop);
  try {
    let piece: Uint8Array | null = start;
    while (source.bytes < bytes) {
      await writer.write(piece);
      piece = await source.read();
      if (piece === null) throw new SourceFault(failed("unreachable"));
    }
    if (source.bytes > bytes) throw new SourceFault(failed("unreachable"));
    signal.removeEventListener("abort", stop);
    const written = writer.write(piece).then(() => writer.close());
    // A call that fails may leave the stream unread.
    await Promise.all([written, stored]);
    return bytes;
  } catch (error) {
    stop();
    throw error;
  }
}

/**
 * Stores a file of unknown length: in one call when it is shorter than a part, otherwise part by part. Returns its
 * size.
 * @param start first bytes of the file.
 */
export async function storeParts(
  start: Uint8Array,
  source: Pick<SourceReader, "read">,
  options: FileOptions,
  target: Omit<CopyTarget, "maxBytes">,
): Promise<number> {
  const { bucket, key, onUpload, signal } = target;
  const parts = partsOf(start, source);
  const first = await parts.next();
  if (first.done === true) throw new Error("an output without bytes");
  let bytes = first.value.length;
  if (bytes < PART_BYTES) {
    await bucket.put(key, first.value, options, signal);
    return bytes;
  }
  const upload = await bucket.createMultipartUpload(key, options, signal);
  onUpload(upload.uploadId);
  try {
    // The task may have been erased meanwhile, so that the id is not stored.
    if (signal.aborted) throw new SourceFault(failed("unreachable"));
    const uploaded = [await upload.uploadPart(1, first.value)];
    for await (const part of parts) {
      bytes += part.length;
      uploaded.push(await upload.uploadPart(uploaded.length + 1, part));
      target.onProgress();
    }
    await upload.complete(uploaded);
    return bytes;
  } catch (error) {
    await upload.abort().catch(() => undefined);
    throw error;
  }
}

/**
 * Returns the parts of a file. All except the last have the size `PART_BYTES`. Each is valid only until the next one
 * is asked for, because all use the same memory.
 */
async function* partsOf(
  start: Uint8Array,
  source: Pick<SourceReader, "read">,
): AsyncGenerator<Uint8Array> {
  const part = new Uint8Array(PART_BYTES);
  let filled = 0;
  for (let piece: Uint8Array | null = start; piece !== null; piece = await source.read()) {
    for (let taken = 0; taken < piece.length;) {
      const count = Math.min(PART_BYTES - filled, piece.length - taken);
      part.set(piece.subarray(taken, taken + count), filled);
      filled += count;
      taken += count;
      if (filled < PART_BYTES) continue;
      yield part;
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
