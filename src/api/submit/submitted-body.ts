import { SECOND_MS } from "../../core/time.ts";
import { readUpTo } from "../../lib/stream.ts";
import { isDeadlinePassed, withDeadline } from "../../lib/timeout.ts";
import { invalidJson } from "../http/body.ts";
import { Problem } from "../http/problem.ts";
import type { BodyReservation } from "./body-budget.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** Time limit in milliseconds within which a whole JSON body must arrive. */
export const READ_DEADLINE_MS = 30 * SECOND_MS;

/**
 * Reads the JSON body of a submission. Memory is reserved for the bytes that have arrived, and for none that are only
 * declared: a client that declares much and sends nothing keeps no other from submitting.
 * @throws Problem `payload_too_large` when the body is declared to have, or has, more than `maxBytes`; `body_timeout`
 * when it has not arrived in time; `invalid_json` when the connection ends before it; `unavailable` when the memory of
 * the isolate is full.
 */
export async function readSubmittedBody(
  { body, headers }: Pick<UpstreamCall, "body" | "headers">,
  maxBytes: number,
  memory: BodyReservation,
): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(headers.get("Content-Length")) > maxBytes) throw tooLarge(maxBytes);
  let refusal: unknown = null;
  const reserve = async (length: number) => {
    try {
      memory.growTo(length);
    } catch (error) {
      refusal = error;
      throw error;
    }
  };
  const { bytes, isBroken } = await withDeadline(READ_DEADLINE_MS, async (signal) => {
    const start = await readUpTo(body, maxBytes + 1, reserve, signal);
    if (start.isBroken && isDeadlinePassed(signal)) throw timedOut();
    return start;
  });
  if (refusal !== null) throw refusal;
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (isBroken) throw invalidJson("The body ended before it was complete.");
  return bytes;
}

function tooLarge(maxBytes: number): Problem {
  const detail = `The body of a submission may have at most ${maxBytes} bytes (MAX_SUBMIT_MB).`;
  return new Problem("payload_too_large", { detail });
}

function timedOut(): Problem {
  const detail = `The body has not arrived within ${READ_DEADLINE_MS / SECOND_MS} seconds. Nothing was submitted.`;
  return new Problem("body_timeout", { detail });
}
