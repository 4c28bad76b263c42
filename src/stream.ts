import { concatUint8Arrays } from "uint8array-extras";

/** The bytes read from the beginning of a stream. */
export interface StreamStart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True when the stream failed before its end and before the limit, where there is one. */
  readonly isBroken: boolean;
}

/**
 * Reads a stream until its end, its failure or `maxBytes`, and cancels the rest. Counts the bytes that arrive
 * instead of trusting `Content-Length`.
 * @param onRead function that is called with the number of bytes so far and awaited before more is read; when
 * it throws, reading ends and `isBroken` is true.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  onRead?: (bytes: number) => Promise<void>,
): Promise<StreamStart> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isBroken = false;
  try {
    for await (const chunk of stream ?? []) {
      chunks.push(chunk.subarray(0, maxBytes - length));
      length += chunk.length;
      if (length >= maxBytes) break;
      await onRead?.(length);
    }
  } catch {
    isBroken = true;
  }
  return { bytes: concatUint8Arrays(chunks), isBroken };
}

/** Reads the whole body of a request, whose length the caller knows to be small. */
export async function readAll(request: Request): Promise<StreamStart> {
  try {
    return { bytes: new Uint8Array(await request.arrayBuffer()), isBroken: false };
  } catch {
    return { bytes: new Uint8Array(), isBroken: true };
  }
}
