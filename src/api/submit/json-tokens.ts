import { createScanner, type JSONScanner, type SyntaxKind } from "jsonc-parser";

/** Type of a JSON token. `wrong` is text that strict JSON does not permit, e.g. a comment. */
export type TokenKind = Punctuation | "string" | "number" | "word" | "end" | "wrong";
type Punctuation = "{" | "}" | "[" | "]" | ":" | ",";

/**
 * Types of tokens, by the numbers that the scanner of jsonc-parser uses (`SyntaxKind`, a `const enum`, which other
 * modules can use only as a type).
 */
const KINDS: Readonly<Partial<Record<SyntaxKind, TokenKind>>> = {
  1: "{",
  2: "}",
  3: "[",
  4: "]",
  5: ",",
  6: ":",
  7: "word",
  8: "word",
  9: "word",
  11: "number",
  17: "end",
};

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** Characters, apart from `u`, that may follow a backslash in a JSON string. */
const ESCAPED = new Set(Array.from('"\\/bfnrt', (char) => char.charCodeAt(0)));
const HEX_DIGITS = /[\da-f]{4}/i;

/**
 * Reads the tokens of a text as strict JSON (RFC 8259). Blanks and the ends of strings are found by this class itself;
 * all other tokens, and the values of short strings, are read by the scanner of jsonc-parser. That scanner allocates an
 * object for every blank and every escape, so that 16 MB of these would fill the memory of an isolate.
 */
export class JsonTokens {
  readonly #text: string;
  readonly #scanner: JSONScanner;
  #start = 0;
  #end = 0;

  constructor(text: string) {
    this.#text = text;
    this.#scanner = createScanner(text);
  }

  /** Offset at which the present token begins, in UTF-16 units. */
  get start(): number {
    return this.#start;
  }

  /** Offset after the present token, in UTF-16 units. */
  get end(): number {
    return this.#end;
  }

  /** Moves to the next token and returns its type. */
  next(): TokenKind {
    this.#start = afterBlanks(this.#text, this.#end);
    if (this.#text.charCodeAt(this.#start) === QUOTE) {
      this.#end = afterString(this.#text, this.#start);
      return this.#end === 0 ? "wrong" : "string";
    }
    this.#scanner.setPosition(this.#start);
    const kind = KINDS[this.#scanner.scan()] ?? "wrong";
    this.#end = this.#scanner.getPosition();
    const error: number = this.#scanner.getTokenError();
    return error === 0 ? kind : "wrong";
  }

  /**
   * Tells whether the present token, which must be a string, begins with these characters. They must be characters that
   * JSON does not escape.
   */
  beginsWith(text: string): boolean {
    return this.#text.startsWith(text, this.#start + 1);
  }

  /**
   * Returns the value of the present token, which must be a string.
   * @returns null when the string may have more than `maxChars` characters.
   */
  stringUpTo(maxChars: number): string | null {
    if (this.#end - this.#start > maxSpelledLength(maxChars)) return null;
    this.#scanner.setPosition(this.#start);
    this.#scanner.scan();
    return this.#scanner.getTokenValue();
  }
}

/**
 * Returns the largest length of a JSON string with `chars` characters: two quotation marks, and an escape `\uXXXX` for
 * each character.
 */
export function maxSpelledLength(chars: number): number {
  return 2 + 6 * chars;
}

/** Returns the offset of the first character at or after `pos` that is not white space in JSON. */
function afterBlanks(text: string, pos: number): number {
  for (let at = pos; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return at;
  }
}

/**
 * Returns the offset after the JSON string that begins at `start`; 0 when the string contains a character that JSON
 * does not permit or has no end.
 */
function afterString(text: string, start: number): number {
  for (let at = start + 1; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    const length = code === BACKSLASH ? escapeLength(text, at) : 1;
    if (code < SPACE || length === 0) return 0;
    at += length;
  }
  return 0;
}

/** Returns the length of the escape sequence at an offset in a JSON string; 0 when JSON has no such escape. */
function escapeLength(text: string, at: number): number {
  const code = text.charCodeAt(at + 1);
  if (code !== LETTER_U) return ESCAPED.has(code) ? 2 : 0;
  return HEX_DIGITS.test(text.slice(at + 2, at + 6)) ? 6 : 0;
}
