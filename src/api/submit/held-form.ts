import { type FormField, FormReader } from "../../objects/call/form-reader.ts";
import { toBase64Url } from "../../security/encoding.ts";
import { invalidRequest } from "../http/problem.ts";

/** A form that the relay has read, and what it needs to know of it. */
export interface ReadForm {
  readonly fields: readonly FormField[];
  /** SHA-256 of the parts of the form, in base64url. It does not depend on the boundary between them. */
  readonly digest: string;
  /** The form itself. Null when it is stored with the call. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** Number of bytes that the reader of forms gets at a time, because it copies them. */
const PIECE_BYTES = 64 * 1024;

/**
 * Reads a form that is in memory.
 * @param boundary text that separates the parts of the form.
 * @throws Problem `invalid_request` when it is not a form that the relay can read.
 */
export async function readHeldForm(
  bytes: Uint8Array<ArrayBuffer>,
  boundary: string,
): Promise<ReadForm> {
  const hash = new crypto.DigestStream("SHA-256");
  const digest = hash.getWriter();
  let hashed: Promise<void> = Promise.resolve();
  const form = new FormReader(boundary, (part) => {
    hashed = digest.write(part);
  });
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    form.write(bytes.subarray(at, at + PIECE_BYTES));
    await hashed;
  }
  await digest.close();
  const message = form.end();
  if (message !== null) throw invalidRequest([{ path: "", message }]);
  return { fields: form.fields, digest: toBase64Url(await hash.digest), bytes };
}
