import { concatUint8Arrays } from "uint8array-extras";

/** The first bytes of a stream, up to its end or a limit. */
export interface StreamStart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * True when the stream, or the `onRead` of the reader, failed before the end of the stream or the limit was
   * reached.
   */
  readonly isBroken: boolean;
}

/**
 * Reads a stream until its end, its failure or `maxBytes`, and cancels the rest. Counts the bytes that arrive instead
 * of trusting `Content-Length`.
 * @param onRead is called after each part, with the number of bytes so far; the next part is read when its promise is
 * fulfilled. When it throws, reading ends and `isBroken` is true.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  onRead?: (bytes: number) => Promise<void>,
): Promise<StreamStart> {
  if (stream === null) return { bytes: new Uint8Array(), isBroken: false };
  // A loop of `for await` needs more CPU time for each part.
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let [length, isBroken] = [0, false];
  try {
    while (length < maxBytes) {
      const { done, value } = await reader.read();
      if (done) return { bytes: concatUint8Arrays(chunks), isBroken };
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

/** Reads the whole body of a request, without a limit: the caller has checked that the `Content-Length` is small. */
export async function readAll(request: Request): Promise<StreamStart> {
  try {
    return { bytes: new Uint8Array(await request.arrayBuffer()), isBroken: false };
  } catch {
    return { bytes: new Uint8Array(), isBroken: true };
  }
}
