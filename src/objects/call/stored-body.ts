/** The part of an object's storage in which the body of a call is stored. */
type BodyStorage = Pick<SyncKvStorage, "get" | "put" | "delete">;

/** Size of a stored body. */
export interface BodySize {
  readonly bytes: number;
  /** Number of the values in which the body is stored. */
  readonly chunks: number;
}

/** Size of the body of a call that is not stored. */
export const NO_BODY: BodySize = { bytes: 0, chunks: 0 };

/** Size in bytes of the values in which a body is stored. A value may have at most 2 MB. */
const CHUNK_BYTES = 1024 * 1024;

/** Stores the body of a call while it arrives. */
export class BodyWriter {
  readonly #storage: BodyStorage;
  readonly #chunk = new Uint8Array(CHUNK_BYTES);
  #filled = 0;
  #bytes = 0;
  #chunks = 0;

  constructor(storage: BodyStorage) {
    this.#storage = storage;
  }

  /** Number of values that are stored so far. */
  get chunks(): number {
    return this.#chunks;
  }

  write(piece: Uint8Array): void {
    this.#bytes += piece.length;
    for (let taken = 0; taken < piece.length;) {
      const part = piece.subarray(taken, taken + CHUNK_BYTES - this.#filled);
      this.#chunk.set(part, this.#filled);
      this.#filled += part.length;
      taken += part.length;
      if (this.#filled === CHUNK_BYTES) this.#store();
    }
  }

  /** Stores what was written last. @returns the size of the whole body. */
  end(): BodySize {
    if (this.#filled > 0) this.#store();
    return { bytes: this.#bytes, chunks: this.#chunks };
  }

  #store(): void {
    this.#storage.put(keyOf(this.#chunks++), this.#chunk.slice(0, this.#filled));
    this.#filled = 0;
  }
}

/** Returns a stored body as the body of a request, which states its length. One chunk at a time is in memory. */
export function storedBody(
  storage: BodyStorage,
  { bytes, chunks }: BodySize,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  const write = async () => {
    for (let number = 0; number < chunks; number++) {
      const chunk = storage.get<Uint8Array>(keyOf(number));
      if (chunk === undefined) throw new Error("a chunk of the body is not stored");
      await writer.write(chunk);
    }
    await writer.close();
  };
  // When the upstream ends the connection early, the request has failed already.
  write().catch((error: unknown) => void writer.abort(error).catch(() => undefined));
  return readable;
}

/** Deletes a stored body. */
export function deleteBody(storage: BodyStorage, { chunks }: BodySize): void {
  for (let number = 0; number < chunks; number++) storage.delete(keyOf(number));
}

function keyOf(number: number): string {
  return `body:${number}`;
}
