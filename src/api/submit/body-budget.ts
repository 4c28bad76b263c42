import { unavailable } from "../http/object-call.ts";

/**
 * Bytes of JSON bodies that an isolate holds at the same time. Each needs about five times its size while it is checked
 * and sent on, and an isolate has 128 MB.
 */
const MAX_HELD_BYTES = 24 * 1024 * 1024;

let heldBytes = 0;

/**
 * Reserves memory of this isolate for the JSON body of one submission.
 */
export class BodyReservation {
  #bytes = 0;

  /**
   * Reserves memory for a body of at least this many bytes, in all.
   * @throws Problem `unavailable` when the bodies of other submissions need the memory now.
   */
  growTo(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more <= 0) return;
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
