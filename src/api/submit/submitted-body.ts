import { SECOND_MS } from "../../core/time.ts";
import { Arrival, type ArrivalRule } from "../../lib/arrival.ts";
import { readUpTo } from "../../lib/stream.ts";
import { type BodyLimit, type BodyReader, bodyTimeout, receiveBody } from "../http/body.ts";
import { SMALL_BODY_BYTES } from "./body-budget.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/**
 * Time in milliseconds within which at least `LEAST_BYTES` more bytes of a large body must arrive, because the body
 * takes memory in the meantime.
 */
export const ARRIVAL_WINDOW_MS = 10 * SECOND_MS;
const LEAST_BYTES = 64 * 1024;
const LARGE_BODIES: ArrivalRule = {
  windowMs: ARRIVAL_WINDOW_MS,
  leastBytes: LEAST_BYTES,
  fromBytes: SMALL_BODY_BYTES + 1,
};

/**
 * Reads the JSON body of a submission.
 * @param reserve reserves memory for the bytes that have arrived so far. The declared length does not count, so that a
 * client that declares a long body and sends nothing does not keep others from submitting.
 * @throws Problem `payload_too_large` when the body has, or is declared to have, more bytes than the limit;
 * `body_timeout` when it has not arrived in time; `invalid_json` when the connection ends before the end of the body;
 * and any Problem that `reserve` throws.
 */
export async function readSubmittedBody(
  { body, headers }: Pick<UpstreamCall, "body" | "headers">,
  limit: BodyLimit,
  reserve: (bytes: number) => Promise<void>,
): ReturnType<BodyReader> {
  return await receiveBody(headers, limit, async (signal) => {
    let refusal: unknown = null;
    const arrival = new Arrival(LARGE_BODIES);
    const onRead = async (bytes: number) => {
      arrival.note(bytes);
      await reserve(bytes).catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    };
    try {
      const ended = AbortSignal.any([signal, arrival.stopped]);
      const start = await readUpTo(body, limit.bytes + 1, onRead, ended);
      if (refusal !== null) throw refusal;
      if (start.isBroken && arrival.stopped.aborted) throw tooSlow();
      return start;
    } finally {
      arrival.end();
    }
  });
}

function tooSlow() {
  const detail = `Less than ${LEAST_BYTES / 1024} KiB of a large body have arrived in ${ARRIVAL_WINDOW_MS / SECOND_MS} seconds.`;
  return bodyTimeout(detail);
}
