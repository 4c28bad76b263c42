import { concatUint8Arrays } from "uint8array-extras";
import { bytesOf } from "../../security/encoding.ts";

/** A field of a form: a text, or a file. */
export interface FormField {
  readonly name: string;
  /** Text of the field. Null for a file. */
  readonly text: string | null;
}

const MAX_PARTS = 256;
const MAX_HEADER_BYTES = 8_192;
/** Largest size of all texts of a form together, in bytes. They are held in memory. */
const MAX_TEXT_BYTES = 262_144;
const [CR, LF, DASH] = [13, 10, 45];
const BLANK_LINE = bytesOf("\r\n\r\n");

/** Pattern of one parameter of a header, with the semicolon before it. */
const PARAMETER = /\s*;\s*([\w!#$&+.^`|~*-]+)=("(?:[^"\\]|\\.)*"|[^\s";]+)\s*/gy;
/** Pattern of the encodings that leave the content of a part as it is (RFC 2045 §6.2). */
const PLAIN_ENCODING = /^(?:7bit|8bit|binary)$/i;
/** Pattern of names that all readers of forms read in the same way. */
const PLAIN_NAME = /^[ !#$&-Z^-~[\]]{1,256}$/;
/** Pattern of boundaries (RFC 2046 §5.1.1). */
const BOUNDARY = /^[\w'()+,./:=? -]{1,70}$/;
const UTF8_CHARSET = /^(?:utf-?8|us-ascii)$/i;

/** The part of a form that is being read. */
interface Part {
  readonly name: string;
  readonly isFile: boolean;
  readonly headerLength: number;
  length: number;
  /** Content of a text so far, in pieces; empty for a file. */
  readonly pieces: Uint8Array[];
}

/**
 * Reads the body of a form (multipart/form-data, RFC 7578) while it arrives, and holds only its texts. It is strict
 * where readers of forms differ, because an upstream must not find another value than the relay: a part must have a
 * name in plain characters, and no encoding of its own.
 */
export class FormReader {
  readonly fields: FormField[] = [];
  readonly #delimiter: Uint8Array;
  readonly #digest: (bytes: Uint8Array) => void;
  /** Bytes that have arrived but cannot be understood before more have arrived. */
  #rest: Uint8Array = bytesOf("\r\n");
  #expected: "start" | "after delimiter" | "header" | "content" | "end" = "start";
  #part: Part | null = null;
  #textBytes = 0;
  #fault: string | null = null;

  /**
   * Creates the reader of one form.
   * @param boundary text that separates the parts of the form.
   * @param digest is called with the bytes by which two forms are compared. They do not depend on the boundary, which
   * clients draw anew when they repeat a call.
   */
  constructor(boundary: string, digest: (bytes: Uint8Array) => void) {
    this.#delimiter = bytesOf(`\r\n--${boundary}`);
    this.#digest = digest;
  }

  /** Reads the next piece of the form. */
  write(piece: Uint8Array): void {
    if (this.#fault !== null) return;
    const bytes = concatUint8Arrays([this.#rest, piece]);
    let at = 0;
    for (let next: number | null = 0; next !== null; next = this.#step(bytes, at)) at = next;
    this.#rest = bytes.slice(at);
  }

  /** Ends the reading. @returns what is wrong with the form, as the rest of a sentence; null for a right one. */
  end(): string | null {
    return this.#fault ?? (this.#expected === "end" ? null : "must end with its closing boundary");
  }

  /**
   * Reads the part of the form that is expected next.
   * @param at position from which the bytes are not read yet.
   * @returns the position after what was read; null when more bytes are needed, and after a fault.
   */
  #step(bytes: Uint8Array, at: number): number | null {
    if (this.#fault !== null) return null;
    switch (this.#expected) {
      case "start":
      case "content":
        return this.#readContent(bytes, at);
      case "after delimiter":
        return this.#readDelimiterEnd(bytes, at);
      case "header":
        return this.#readHeader(bytes, at);
      case "end":
        return at === bytes.length ? null : bytes.length;
    }
  }

  #readContent(bytes: Uint8Array, at: number): number | null {
    const found = indexOf(bytes, this.#delimiter, at);
    // A delimiter may have begun in the last bytes.
    const end = found ?? Math.max(at, bytes.length - this.#delimiter.length + 1);
    if (this.#part !== null) this.#take(this.#part, bytes.subarray(at, end));
    if (found === null) return end === at ? null : end;
    this.#endPart();
    this.#expected = "after delimiter";
    return found + this.#delimiter.length;
  }

  #take(part: Part, content: Uint8Array): void {
    this.#digest(content);
    part.length += content.length;
    if (part.isFile) return;
    this.#textBytes += content.length;
    if (this.#textBytes > MAX_TEXT_BYTES) {
      this.#fail(`must have texts of at most ${MAX_TEXT_BYTES} bytes together`);
    } else part.pieces.push(content);
  }

  #endPart(): void {
    const part = this.#part;
    this.#part = null;
    if (part === null) return;
    // With the lengths, no two forms with different parts have the same bytes.
    const lengths = [part.headerLength, part.length].map((length) => `${length}`.padStart(10, "0"));
    this.#digest(bytesOf(lengths.join("")));
    const text = part.isFile ? null : utf8(part.pieces);
    if (text === undefined) this.#fail("must have texts in UTF-8");
    else this.fields.push({ name: part.name, text });
  }

  #readDelimiterEnd(bytes: Uint8Array, at: number): number | null {
    if (bytes.length < at + 2) return null;
    const [first, second] = bytes.subarray(at, at + 2);
    if (first === DASH && second === DASH) this.#expected = "end";
    else if (first === CR && second === LF) this.#expected = "header";
    else return this.#fail("must have a line break after each boundary");
    return at + 2;
  }

  #readHeader(bytes: Uint8Array, at: number): number | null {
    const end = indexOf(bytes, BLANK_LINE, at);
    if ((end ?? bytes.length) - at > MAX_HEADER_BYTES) {
      return this.#fail(`must have headers of at most ${MAX_HEADER_BYTES} bytes in each part`);
    }
    if (end === null) return null;
    if (this.fields.length === MAX_PARTS) return this.#fail(`must have at most ${MAX_PARTS} parts`);
    const header = bytes.subarray(at, end);
    // Names of files come in any encoding; the rest is ASCII.
    const place = placeOf(new TextDecoder("latin1").decode(header));
    if (place === null) {
      return this.#fail("must have a plain name, in form-data, and no encoding in each part");
    }
    this.#digest(header);
    this.#part = { ...place, headerLength: header.length, length: 0, pieces: [] };
    this.#expected = "content";
    return end + BLANK_LINE.length;
  }

  #fail(message: string): null {
    this.#fault = message;
    return null;
  }
}

/**
 * Returns the boundary in the media type of a form.
 * @returns null for any other media type, and when it states none or one that the RFC does not permit.
 */
export function boundaryOf(contentType: string): string | null {
  const value = headerValue(contentType);
  const boundary = value?.parameters.get("boundary") ?? "";
  const isForm = value?.word === "multipart/form-data" && BOUNDARY.test(boundary);
  return isForm ? boundary : null;
}

/** Returns the name of a part, and whether it is a file. Null when readers of forms could find another name or text. */
function placeOf(header: string): Pick<Part, "name" | "isFile"> | null {
  const lines = linesOf(header);
  const disposition = headerValue(lines?.get("content-disposition") ?? "");
  if (lines === null || disposition?.word !== "form-data") return null;
  const { parameters } = disposition;
  const name = parameters.get("name") ?? "";
  const isFile = parameters.has("filename");
  // Some readers take a part without a file name, or with it in `filename*` alone, for a text, and others for a file.
  const isUnclear = isFile ? parameters.get("filename") === "" : parameters.has("filename*");
  if (isUnclear || !PLAIN_NAME.test(name)) return null;
  return isFile || isPlainText(lines) ? { name, isFile } : null;
}

/** Tells whether the content of a part is a text in UTF-8, without a further encoding. */
function isPlainText(lines: ReadonlyMap<string, string>): boolean {
  const type = headerValue(lines.get("content-type") ?? "text/plain");
  const charset = type?.parameters.get("charset") ?? "utf-8";
  const encoding = lines.get("content-transfer-encoding") ?? "binary";
  return type !== null && UTF8_CHARSET.test(charset) && PLAIN_ENCODING.test(encoding);
}

/** Returns the lines of a header by their names in lower case. Null when one has no name, or two have the same. */
function linesOf(header: string): ReadonlyMap<string, string> | null {
  const all = header.split("\r\n").map((line) => {
    const at = line.indexOf(":");
    return [line.slice(0, Math.max(at, 0)).toLowerCase(), line.slice(at + 1).trim()] as const;
  });
  const lines = new Map(all);
  return lines.size === all.length && !lines.has("") ? lines : null;
}

/** A value of a header: the word at its beginning, in lower case, and the parameters behind it. */
interface HeaderValue {
  readonly word: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Returns the word and the parameters of a header. Null when it has another form. */
function headerValue(value: string): HeaderValue | null {
  const [word = ""] = /^[^;\s]*/.exec(value) ?? [];
  const parameters = parametersOf(value.slice(word.length));
  return parameters && { word: word.toLowerCase(), parameters };
}

/**
 * Returns the parameters of a header by their names in lower case. A quoted value is returned without the quotes, and
 * otherwise as it is spelled.
 * @returns null when the text is not a list of parameters, or names one twice.
 */
function parametersOf(text: string): ReadonlyMap<string, string> | null {
  const found = [...text.matchAll(PARAMETER)];
  const isWhole = found.reduce((sum, [all]) => sum + all.length, 0) === text.length;
  const parameters = new Map(
    found.map(([, name = "", value = ""]) => [
      name.toLowerCase(),
      value.startsWith('"') ? value.slice(1, -1) : value,
    ]),
  );
  return isWhole && parameters.size === found.length ? parameters : null;
}

/** Returns the text that bytes are in UTF-8; undefined when they are not. */
function utf8(pieces: readonly Uint8Array[]): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      concatUint8Arrays([...pieces]),
    );
  } catch {
    return undefined;
  }
}

/** Returns the position of the first occurrence of a pattern at or after `from`. Null when there is none. */
function indexOf(bytes: Uint8Array, pattern: Uint8Array, from: number): number | null {
  const [first = 0] = pattern;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    let length = 1;
    while (length < pattern.length && bytes[at + length] === pattern[length]) length++;
    if (length === pattern.length) return at;
  }
  return null;
}
