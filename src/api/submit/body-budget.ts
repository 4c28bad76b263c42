import { unavailable } from "../http/object-call.ts";

/**
 * Bytes of large JSON bodies that an isolate, which has 128 MB, holds at the same time. A body needs its size until it
 * is sent on, and twice its size while its parts are joined. Its text takes up to two bytes for each byte of the body,
 * for an account twice, but only one body is checked at a time.
 */
const MAX_HELD_BYTES = 24 * 1024 * 1024;
/**
 * Size up to which a body needs no reservation, so that large bodies that are on their way keep out no body of usual
 * size.
 */
const SMALL_BODY_BYTES = 64 * 1024;

let heldBytes = 0;

/**
 * Reserves memory of this isolate for the JSON body of one submission.
 */
export class BodyReservation {
  #bytes = 0;

  /**
   * Reserves memory for a body of at least this many bytes, in all; none for a small one.
   * @throws Problem `unavailable` when the bodies of other submissions need the memory now.
   */
  growTo(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more <= 0 || bytes <= SMALL_BODY_BYTES) return;
    if (heldBytes + more > MAX_HELD_BYTES) {
      throw unavailable("The relay holds as many large bodies as it has memory for.", "memory");
    }
    heldBytes += more;
    this.#bytes = bytes;
  }

  /** Gives the memory back. */
  release(): void {
    heldBytes -= this.#bytes;
    this.#bytes = 0;
  }
}
