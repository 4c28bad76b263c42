import { SECOND_MS } from "../../core/time.ts";
import { streamWithStart } from "../../lib/stream.ts";
import { isDeadlinePassed, withDeadline } from "../../lib/timeout.ts";
import { boundaryOf, FormReader } from "../../objects/call/form-reader.ts";
import { BODY_DEADLINE_MS, bodyTimeout } from "../http/body.ts";
import { Model } from "../http/fields.ts";
import { invalidRequest } from "../http/problem.ts";
import { SMALL_BODY_BYTES } from "./body-budget.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** A form of which the beginning was read, to find its model. */
interface PeekedForm {
  /** Model that the form names. Null when it names none in its beginning. */
  readonly model: string | null;
  /** The whole form. Its length is known to whom the length of the call's body was. */
  readonly body: UpstreamCall["body"];
}

/**
 * Reads the beginning of a form, until its model is found or 64 KiB have arrived, for which no memory has to be
 * reserved. Most clients send the texts of a form before its files. A form that the relay cannot read is left to the
 * upstream.
 * @param pointer JSON Pointer of the model in a JSON body for the same upstream, e.g. `/model`.
 * @throws Problem `body_timeout` when the beginning does not arrive in time; `invalid_request` when the form breaks off.
 */
export async function peekForm(
  { headers, body }: Pick<UpstreamCall, "headers" | "body">,
  pointer: string,
): Promise<PeekedForm> {
  const boundary = boundaryOf(headers.get("Content-Type") ?? "");
  if (body === null || boundary === null) return { model: null, body };
  const form = new FormReader(boundary, () => undefined);
  const model = () => form.fields.find(({ name }) => `/${name}` === pointer)?.text ?? null;
  const pieces = await withDeadline(BODY_DEADLINE_MS, (signal) =>
    firstPieces(body, signal, (piece) => {
      form.write(piece);
      return model() !== null;
    }),
  );
  const stated = headers.get("Content-Length") ?? "";
  const length = /^\d{1,15}$/.test(stated) ? Number(stated) : null;
  const { data = null } = Model.safeParse(model());
  return { model: data, body: streamWithStart(pieces, body, length) };
}

/**
 * Reads the first pieces of a client's form: to its end, to at least 64 KiB, or until `take` returns true.
 * @param take is called with each piece.
 */
async function firstPieces(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  take: (piece: Uint8Array) => boolean,
): Promise<readonly Uint8Array[]> {
  const reader = body.getReader();
  // Ends a read that waits, as if the form were at its end.
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
  const pieces: Uint8Array[] = [];
  for (let bytes = 0; bytes < SMALL_BODY_BYTES;) {
    const { done, value } = await reader.read().catch(() => {
      throw invalidRequest([{ path: "", message: "must arrive whole" }]);
    });
    if (isDeadlinePassed(signal)) {
      const detail = `The beginning of the form has not arrived within ${BODY_DEADLINE_MS / SECOND_MS} seconds.`;
      throw bodyTimeout(detail);
    }
    if (done) break;
    pieces.push(value);
    bytes += value.length;
    if (take(value)) break;
  }
  reader.releaseLock();
  return pieces;
}
