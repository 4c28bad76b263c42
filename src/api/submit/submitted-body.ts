import { SECOND_MS } from "../../core/time.ts";
import { readUpTo } from "../../lib/stream.ts";
import { type BodyReader, bodyTimeout, receiveBody } from "../http/body.ts";
import { SMALL_BODY_BYTES } from "./body-budget.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** Time in milliseconds in which a large body must have come on by `LEAST_BYTES`, because it holds memory. */
export const ARRIVAL_WINDOW_MS = 10 * SECOND_MS;
const LEAST_BYTES = 64 * 1024;

/**
 * Reads the JSON body of a submission.
 * @param reserve reserves memory for a body of at least this many bytes, in all. It is called for bytes that have arrived,
 * and for none that are only declared: a client that declares much and sends nothing keeps no other from submitting.
 * @throws Problem `payload_too_large` when the body is declared to have, or has, more than `maxBytes`; `body_timeout`
 * when it has not arrived in time; `invalid_json` when the connection ends before it; that of `reserve`.
 */
export async function readSubmittedBody(
  { body, headers }: Pick<UpstreamCall, "body" | "headers">,
  maxBytes: number,
  reserve: (bytes: number) => Promise<void>,
): ReturnType<BodyReader> {
  const detail = `The body of a submission may have at most ${maxBytes} bytes (MAX_SUBMIT_MB).`;
  return await receiveBody(headers, { bytes: maxBytes, detail }, async (signal) => {
    let refusal: unknown = null;
    const arrival = new Arrival();
    const onRead = async (bytes: number) => {
      arrival.note(bytes);
      await reserve(bytes).catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    };
    try {
      const ended = AbortSignal.any([signal, arrival.stopped]);
      const start = await readUpTo(body, maxBytes + 1, onRead, ended);
      if (refusal !== null) throw refusal;
      if (start.isBroken && arrival.stopped.aborted) throw tooSlow();
      return start;
    } finally {
      arrival.end();
    }
  });
}

/** Watches that a large body keeps coming. */
class Arrival {
  readonly #stop = new AbortController();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Aborts when too few bytes have come for some time. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Notes how many bytes have come, in all. */
  note(bytes: number): void {
    this.#bytes = bytes;
    if (this.#timer === null && bytes > SMALL_BODY_BYTES) this.#look();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #look(): void {
    const before = this.#bytes;
    this.#timer = setTimeout(() => {
      if (this.#bytes - before < LEAST_BYTES) this.#stop.abort();
      else this.#look();
    }, ARRIVAL_WINDOW_MS);
  }
}

function tooSlow() {
  const detail = `Less than ${LEAST_BYTES / 1024} KiB of a large body have arrived in ${ARRIVAL_WINDOW_MS / SECOND_MS} seconds.`;
  return bodyTimeout(detail);
}
