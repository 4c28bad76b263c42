import { bytesOf } from "../../security/encoding.ts";
import { AnswerFault } from "./answer-fault.ts";

/**
 * Largest length in bytes of an answer's text, without its files. It is far above that of usual answers because Gemini
 * sends a `thoughtSignature` of 0.6 MB with each image.
 */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;
const FIRST_BYTES = 4_096;
const SHORT_BYTES = 64;

/** A part of a text, by its places in bytes: from `start` up to, but without, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The text of an answer, in UTF-8, which grows, and whose parts can be replaced. */
export class AnswerText {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  /** Texts that replace parts of this text, by the places at which these begin. */
  readonly #edits = new Map<number, { readonly end: number; readonly text: string }>();

  get length(): number {
    return this.#length;
  }

  /** Adds a part of the bytes. @throws AnswerFault when the text becomes too large. */
  add(bytes: Uint8Array, start = 0, end = bytes.length): void {
    const length = this.#length + end - start;
    if (length > MAX_TEXT_BYTES) throw new AnswerFault("too_large");
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    // Most parts are short, and a view of them would take longer to make than to copy them.
    if (end - start > SHORT_BYTES) this.#bytes.set(bytes.subarray(start, end), this.#length);
    else for (let i = start; i < end; i++) this.#bytes[this.#length + i - start] = bytes[i] ?? 0;
    this.#length = length;
  }

  /** Replaces the end of this text, from a place on. */
  replaceEnd(start: number, text: string): void {
    this.#length = start;
    this.add(bytesOf(text));
  }

  /** Plans that a text replaces a part of this text when it is read as a whole. */
  replaceLater({ start, end }: Span, text: string): void {
    this.#edits.set(start, { end, text });
  }

  /** Forgets the replacements that were planned from a place on. */
  replaceNothing(from: number): void {
    for (const start of this.#edits.keys()) if (start >= from) this.#edits.delete(start);
  }

  /** Returns a copy of a part of the bytes. */
  bytes({ start, end }: Span): Uint8Array {
    return this.#bytes.slice(start, end);
  }

  /** Returns a part in which each byte is one character, i.e. exactly if it is ASCII. */
  latin1({ start, end }: Span): string {
    let text = "";
    for (let i = start; i < end; i++) text += String.fromCharCode(this.#bytes[i] ?? 0);
    return text;
  }

  /** Tells whether the text ends with an ASCII text. */
  endsWith(ascii: string): boolean {
    const start = this.#length - ascii.length;
    for (let i = 0; i < ascii.length; i++) {
      if (this.#bytes[start + i] !== ascii.charCodeAt(i)) return false;
    }
    return true;
  }

  /** Returns the whole text with the replacements that were planned. */
  toString(): string {
    const decoder = new TextDecoder();
    let text = "";
    let done = 0;
    for (const [start, edit] of [...this.#edits].toSorted(([a], [b]) => a - b)) {
      text += decoder.decode(this.#bytes.subarray(done, start)) + edit.text;
      done = edit.end;
    }
    return text + decoder.decode(this.#bytes.subarray(done, this.#length));
  }
}
