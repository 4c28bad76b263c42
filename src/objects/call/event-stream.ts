/**
 * Part of an event in a stream of server-sent events: bytes of its data, or its end. Both have the name of the event;
 * empty when the event has no name, or when the name comes after the data.
 */
export type EventPart =
  | { readonly kind: "data"; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly name: string };

const [NEW_LINE, SPACE, COLON] = [0x0a, 0x20, 0x3a];
const NEW_LINE_BYTES = Uint8Array.of(NEW_LINE);
const DATA_FIELD = "data:";
const NAME_FIELD = "event:";
/** Largest length in bytes of a line that is read as a whole, i.e. of one without data. */
const MAX_LINE_BYTES = 256;

/**
 * Divides a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), which
 * arrives in pieces, without holding the data of an event. The data are to be JSON: spaces before them are left out,
 * and the return of a line that ends with CRLF stays. A line must not end with a return alone.
 */
export class EventStream {
  #name = "";
  /** Beginning of the present line; empty within data. */
  #line = "";
  #isData = false;
  #hasData = false;

  /** Yields the parts of events in the next piece of the stream. Data are valid as long as the piece is. */
  *push(piece: Uint8Array): Generator<EventPart, undefined> {
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i] ?? NEW_LINE;
      if (!this.#isData) yield* this.#take(byte);
      else if (byte === NEW_LINE) this.#isData = false;
      else if (byte !== SPACE || this.#hasData) {
        const found = piece.indexOf(NEW_LINE, i);
        const end = found === -1 ? piece.length : found;
        this.#hasData = true;
        yield { kind: "data", name: this.#name, bytes: piece.subarray(i, end) };
        i = end - 1;
      }
    }
  }

  /** Yields the end of an event that ends with the stream, and not with an empty line, as it should. */
  *end(): Generator<EventPart, undefined> {
    if (this.#hasData) yield { kind: "end", name: this.#name };
  }

  /** Takes the next byte of a line that is not known to contain data. */
  *#take(byte: number): Generator<EventPart, undefined> {
    if (byte !== NEW_LINE) {
      if (this.#line.length < MAX_LINE_BYTES) this.#line += String.fromCharCode(byte);
      if (byte !== COLON || this.#line !== DATA_FIELD) return;
      // Lines of data are joined by line breaks.
      if (this.#hasData) yield { kind: "data", name: this.#name, bytes: NEW_LINE_BYTES };
      this.#line = "";
      this.#isData = true;
      return;
    }
    const line = this.#line.trimEnd();
    this.#line = "";
    if (line.startsWith(NAME_FIELD)) this.#name = line.slice(NAME_FIELD.length).trim();
    if (line !== "") return;
    yield* this.end();
    this.#name = "";
    this.#hasData = false;
  }
}
