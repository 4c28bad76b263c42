import { bytesOf, toBase64 } from "../../src/security/encoding.ts";
import { PNG } from "../core/answers.ts";

/** Bytes of which the files of large answers consist, again and again, and their base64. */
const BLOCK = bytesOf(
  PNG.subarray(0, 8),
  Uint8Array.from({ length: 299_992 }, (_, i) => i >> 5),
);
const BLOCK_TEXT = bytesOf(toBase64(BLOCK));

/** Yields the pieces of an answer with images of so many bytes in base64. */
export function* largeImages(count: number, length: number, end = "]}"): Generator<Uint8Array> {
  yield bytesOf('{"data":[');
  for (let i = 0; i < count; i++) {
    yield bytesOf(`${i === 0 ? "" : ","}{"b64_json":"`);
    for (let left = length; left > 0; left -= BLOCK.length) {
      yield left < BLOCK.length ? bytesOf(toBase64(BLOCK.subarray(0, left))) : BLOCK_TEXT;
    }
    yield bytesOf('"}');
  }
  yield bytesOf(end);
}

/** Returns the bytes of each image in such an answer. */
export function imageBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += BLOCK.length) {
    bytes.set(BLOCK.subarray(0, length - at), at);
  }
  return bytes;
}
