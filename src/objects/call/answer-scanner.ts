import { parseJsonAsSent } from "../../core/json.ts";
import {
  hasFileSignature,
  holdsData,
  holdsOnlyBase64,
  isBase64,
  isBesideOutput,
  isNoFile,
  isNoOutputType,
  namesBase64,
  namesFile,
  statesFile,
} from "../../providers/file-text.ts";
import { wordsOf } from "../../providers/member-words.ts";
import { bytesOf } from "../../security/encoding.ts";
import { AnswerFault } from "./answer-fault.ts";
import { AnswerText, type Span } from "./answer-text.ts";
import { Base64Decoder, CUT_ESCAPE } from "./base64-decoder.ts";
import { placeholderOf } from "./placeholder.ts";

/** What a scan finds of a file: its number at its beginning, then its bytes, in pieces, and its end. */
export type ScannedPart =
  /** `mediaType` is what the object with the file states as its type; null when it states none before the file. */
  | { readonly kind: "file"; readonly number: number; readonly mediaType: string | null }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  /** The last files, from this number on, are no output after all. Their numbers become free. */
  | { readonly kind: "withdrawn"; readonly from: number };

/**
 * Largest number of bytes at the beginning of a string that decide whether the string is a file. The bytes by which the
 * media type is found are among them, even after the beginning of a `data:` URL and with every character escaped.
 */
const HEAD_BYTES = 1_024;
/** Largest length in bytes of member names, and of values that say something about their object, that are examined. */
const MAX_NOTE_BYTES = 128;
/** Largest depth of nested lists and objects; the same as in the body of a submission. */
const MAX_DEPTH = 256;

/** Pattern of the beginning of a `data:` URL in base64. */
const DATA_URL = /^data:[^,]{0,200};base64,/i;
/**
 * The text before a `data:` URL inside a longer text: a link of Markdown. So gateways show images in the answers of
 * language models (https://github.com/QuantumNous/new-api, relay/channel/gemini).
 */
const MARKDOWN_LINK = "](data:";

/** Name of the member with a file in OpenAI's answers, and its name with a link in place of the file. */
const [BASE64_NAME, URL_NAME] = ["b64_json", "url"];
/**
 * New name of a member `url` beside one that is renamed to `url`. Gateways send both, of which one is empty, and a
 * reader of JSON would take the last.
 */
const OTHER_URL_NAME = "source_url";
/** Google's names of the object with a file in its member `data`, and the names of object and member with a link. */
const GOOGLE_NAMES: ReadonlyMap<string, readonly [object: string, member: string]> = new Map([
  ["inlineData", ["fileData", "fileUri"]],
  ["inline_data", ["file_data", "file_uri"]],
]);

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OBJECT_START, OBJECT_END, LIST_START, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];
const LINK_END = 0x29;
/** For each byte 1 if it may end a string, or stands between the values of JSON. */
const IS_MARK = new Uint8Array(256);
for (const byte of [
  QUOTE,
  BACKSLASH,
  COMMA,
  COLON,
  OBJECT_START,
  OBJECT_END,
  LIST_START,
  LIST_END,
]) {
  IS_MARK[byte] = 1;
}

/** Google's name of the member which says that a part of an answer, and a file in it, is only a thought of the model. */
const THOUGHT_NAME = "thought";
/** Pattern of a member's text from the end of its name to the end of its value, if the value is true. */
const TRUE_VALUE = /^"\s*:\s*true\s*[,}]$/;

/** The name of a member, and its place in the text. */
interface Name extends Span {
  readonly text: string;
}

const NO_NAME: Name = { text: "", start: 0, end: 0 };

/** A list or an object of which the end has not been seen. */
interface Container {
  readonly isObject: boolean;
  readonly start: number;
  /** Name of the member whose value is read. Empty in a list. */
  member: Name;
  /** Name of the member `url`; null before it was seen. */
  url: Name | null;
  /** True when a member of the object was renamed to `url`. */
  hasLink: boolean;
  /** True when a member of the object says that it contains a file. */
  statesFile: boolean;
  /** Media type that the object states; null before it was seen. */
  mediaType: string | null;
  /** True when the `type` of the object says that it is no output. */
  isNoOutput: boolean;
  /** True when a member of the object says that it is a thought. Files in it are left out at its end. */
  isThought: boolean;
}

/** A string of which the end has not been seen. */
interface OpenString {
  readonly start: number;
  readonly isName: boolean;
  isEscaped: boolean;
  /** Text in the string that may be a file: the whole string, or a link in it; null when neither can be one. */
  candidate: { readonly start: number; readonly isLink: boolean } | null;
}

/** A file of which the end has not been seen. `decoder` is null when its content is left out. */
interface OpenFile {
  readonly decoder: Base64Decoder | null;
  readonly isLink: boolean;
}

/**
 * Divides an answer in JSON, which arrives in pieces, into files and the rest, the skeleton, in which placeholders
 * stand for the files. It holds no more than the skeleton and a piece, and needs time in proportion to the length.
 *
 * It follows strings, names and brackets only; whether the answer is JSON is examined in the skeleton, which contains
 * everything but the contents of files.
 */
export class AnswerScanner {
  readonly #text = new AnswerText();
  readonly #open: Container[] = [containerOf(false, 0)];
  readonly #token: string;
  readonly #numberOf: () => number | null;
  #expectsName = false;
  #string: OpenString | null = null;
  #file: OpenFile | null = null;
  /** The files that were found, also those that were left out, with the places of their placeholders. */
  readonly #found: (Span & { readonly number: number })[] = [];
  #type = "";

  /**
   * @param token text of the placeholders that nobody can guess.
   * @param numberOf returns the number of the next file; null when the content of the file is to be left out.
   */
  constructor(token: string, numberOf: () => number | null) {
    this.#token = token;
    this.#numberOf = numberOf;
  }

  /** The member `type` of the answer; empty while it has not been seen. */
  get type(): string {
    return this.#type;
  }

  /**
   * Yields the parts of files in the next piece of the answer.
   * @throws AnswerFault when the answer cannot be read.
   */
  *push(piece: Uint8Array): Generator<ScannedPart, undefined> {
    for (let i = 0; i < piece.length;) {
      if (this.#file === null) {
        const end = this.#endOfTaken(piece, i);
        this.#text.add(piece, i, end);
        const parts = this.#take(piece[end - 1] ?? 0);
        if (parts !== null) yield* parts;
        i = end;
        continue;
      }
      const { decoder, isLink } = this.#file;
      const end = endOfContent(piece, i, isLink);
      if (decoder !== null) yield { kind: "bytes", bytes: decoder.push(piece.subarray(i, end)) };
      i = end;
      if (end === piece.length) continue;
      this.#file = null;
      // An escape that the end of the head has cut was one in the file.
      if (this.#string !== null) this.#string.isEscaped = false;
      if (decoder === null) continue;
      yield { kind: "bytes", bytes: decoder.end() };
      yield { kind: "end" };
    }
  }

  /**
   * Returns the skeleton of the answer, after its last piece.
   * @throws AnswerFault when the answer is not JSON, e.g. because it was cut short.
   */
  end(): string {
    const skeleton = this.#text.toString();
    if (parseJsonAsSent(skeleton) === undefined) throw new AnswerFault("broken");
    return skeleton;
  }

  /**
   * Returns up to where the bytes of a piece, which are not in a file, can be taken at once: only the last of them may
   * have a meaning.
   */
  #endOfTaken(piece: Uint8Array, start: number): number {
    const string = this.#string;
    const isPlain = string === null || (!string.isName && string.candidate === null);
    let last = start;
    if (isPlain && string?.isEscaped !== true) {
      while (last < piece.length - 1 && IS_MARK[piece[last] ?? 0] === 0) last++;
    }
    return last + 1;
  }

  /**
   * Takes a byte that is not in a file, after it was added to the text. Returns the parts of the file that begins here, or
   * what is withdrawn; null when neither is so.
   */
  #take(byte: number): readonly ScannedPart[] | null {
    if (this.#string !== null) return this.#takeInString(byte, this.#string);
    const container = this.#container;
    if (byte === QUOTE) {
      const start = this.#text.length;
      const isName = this.#expectsName;
      const candidate = isName ? null : { start, isLink: false };
      this.#string = { start, isName, isEscaped: false, candidate };
    } else if (byte === OBJECT_START || byte === LIST_START) {
      if (this.#open.length > MAX_DEPTH) throw new AnswerFault("broken");
      this.#open.push(containerOf(byte === OBJECT_START, this.#text.length));
      this.#expectsName = byte === OBJECT_START;
    } else if (byte === OBJECT_END || byte === LIST_END) {
      return this.#close(container);
    } else if (byte === COMMA) {
      container.isThought ||= this.#isThought(container);
      this.#expectsName = container.isObject;
    } else if (byte === COLON) {
      this.#expectsName = false;
    }
    return null;
  }

  #close(container: Container): readonly ScannedPart[] | null {
    const isThought = container.isThought || this.#isThought(container);
    if (this.#open.length > 1) this.#open.pop();
    this.#expectsName = false;
    return isThought ? this.#withdrawFrom(container.start) : null;
  }

  /** Tells whether the member that ends here says that its object is a thought. */
  #isThought({ member: { text: name, end: start } }: Container): boolean {
    const end = this.#text.length;
    if (name !== THOUGHT_NAME || end - start > MAX_NOTE_BYTES) return false;
    return TRUE_VALUE.test(this.#text.latin1({ start, end }));
  }

  /**
   * Leaves out the files after a place in the text, also those that were left out before. Returns what is withdrawn; null
   * when there is none.
   */
  #withdrawFrom(place: number): readonly ScannedPart[] | null {
    const files = this.#found.filter(({ start }) => start > place);
    const [first] = files;
    if (first === undefined) return null;
    this.#text.replaceNothing(place);
    for (const placeholder of files) this.#text.replaceLater(placeholder, "");
    return [{ kind: "withdrawn", from: first.number }];
  }

  #takeInString(byte: number, string: OpenString): readonly ScannedPart[] | null {
    const isQuoted = string.isEscaped;
    string.isEscaped = byte === BACKSLASH && !isQuoted;
    const isEnd = byte === QUOTE && !isQuoted;
    if (isEnd) this.#string = null;
    if (!string.isName) return this.#takeInValue(byte, string, isEnd);
    if (isEnd) this.#setName(string.start);
    return null;
  }

  #takeInValue(byte: number, string: OpenString, isEnd: boolean): readonly ScannedPart[] | null {
    if (byte === COLON && this.#text.endsWith(MARKDOWN_LINK)) {
      string.candidate = { start: this.#text.length - "data:".length, isLink: true };
    }
    const { candidate } = string;
    if (candidate === null) return null;
    const { start, isLink } = candidate;
    const isWhole = isEnd || (byte === LINK_END && isLink);
    if (!isWhole && this.#text.length - start < HEAD_BYTES) return null;
    string.candidate = null;
    const parts = this.#partsOf(candidate, isWhole ? byte : null);
    if (parts === null && isEnd && !isLink) this.#note(start);
    return parts;
  }

  /**
   * Returns the first parts of a text that is a file, and replaces it by a placeholder; null when it is no file.
   * @param after byte after the text, if all of it has been seen; otherwise null.
   * @throws AnswerFault when the text is a broken file.
   */
  #partsOf(
    { start, isLink }: { readonly start: number; readonly isLink: boolean },
    after: number | null,
  ): readonly ScannedPart[] | null {
    const head = { start, end: this.#text.length - (after === null ? 0 : 1) };
    const content = this.#contentIn(head, isLink);
    const decoder = new Base64Decoder();
    const bytes = content && (after === null ? decoder.push(content) : decodedWhole(content));
    if (bytes === null) {
      if (this.#isBroken(head)) throw new AnswerFault("broken");
      return null;
    }
    const number = this.#numberOf();
    this.#text.replaceEnd(start, number === null ? "" : placeholderOf(this.#token, number));
    const end = this.#text.length;
    if (after === null) this.#file = { decoder: number === null ? null : decoder, isLink };
    else this.#text.add(Uint8Array.of(after));
    if (number === null) return null;
    this.#rename();
    this.#found.push({ start, end, number });
    const { mediaType } = this.#container;
    const parts = [{ kind: "file", number, mediaType } as const, { kind: "bytes", bytes } as const];
    return after === null ? parts : [...parts, { kind: "end" }];
  }

  /** Returns what is base64 in the beginning of a text that is a file; null when it is no file. */
  #contentIn(head: Span, isLink: boolean): Uint8Array | null {
    const json = this.#text.latin1(head);
    const text = unescaped(json);
    const [urlStart = ""] = DATA_URL.exec(text) ?? [];
    const base64 = text.slice(urlStart.length);
    if (!isBase64(base64)) return null;
    const isUrl = urlStart !== "";
    if (!isUrl && (isLink || !this.#isFile(base64))) return null;
    if (this.#isBesideOutput()) return null;
    const start = isUrl ? head.start + json.indexOf(",") + 1 : head.start;
    return this.#text.bytes({ start, end: head.end });
  }

  /** Tells whether the present string, which is base64, is a file. */
  #isFile(base64: string): boolean {
    const container = this.#container;
    const words = wordsOf(this.#nameAround(this.#open.length));
    if (namesBase64(words) || hasFileSignature(base64)) return true;
    if (!container.isObject || !holdsData(words)) return false;
    const object = this.#nameAround(this.#open.length - 1);
    return container.statesFile || GOOGLE_NAMES.has(object) || namesFile(wordsOf(object));
  }

  /** Tells whether the present string, which is not base64, is a broken file. */
  #isBroken(head: Span): boolean {
    const object = this.#nameAround(this.#open.length - 1);
    if (!holdsOnlyBase64(this.#nameAround(this.#open.length), object)) return false;
    return !isNoFile(unescaped(this.#text.latin1(head))) && !this.#isBesideOutput();
  }

  /** Tells whether the names and types around the present string say that it is no output. */
  #isBesideOutput(): boolean {
    return this.#open.some(
      ({ isNoOutput, member }) => isNoOutput || wordsOf(member.text).some(isBesideOutput),
    );
  }

  /** Returns the name of the nearest member around a depth, i.e. also that of a list in which the depth is. */
  #nameAround(depth: number): string {
    return this.#open.slice(0, depth).findLast(({ isObject }) => isObject)?.member.text ?? "";
  }

  /** Renames the member whose value is the present string, a file, and its object. */
  #rename(): void {
    const container = this.#container;
    const { member } = container;
    const object = this.#open.at(-2)?.member ?? NO_NAME;
    const names = member.text === "data" ? GOOGLE_NAMES.get(object.text) : undefined;
    if (names !== undefined) {
      this.#text.replaceLater(object, names[0]);
      this.#text.replaceLater(member, names[1]);
    }
    if (member.text !== BASE64_NAME) return;
    this.#text.replaceLater(member, URL_NAME);
    if (container.url !== null) this.#text.replaceLater(container.url, OTHER_URL_NAME);
    container.hasLink = true;
  }

  get #container(): Container {
    const container = this.#open.at(-1);
    if (container === undefined) throw new Error("no container");
    return container;
  }

  /** Takes the string that ends here as the name of the member that follows. */
  #setName(start: number): void {
    const container = this.#container;
    const end = this.#text.length - 1;
    container.member = { text: this.#shortText(start), start, end };
    if (container.member.text !== URL_NAME) return;
    container.url = container.member;
    if (container.hasLink) this.#text.replaceLater(container.member, OTHER_URL_NAME);
  }

  /** Notes what the string that ends here, the value of a member, says about its object. */
  #note(start: number): void {
    const container = this.#container;
    const { text: name } = container.member;
    const value = this.#shortText(start);
    container.statesFile ||= statesFile(name, value);
    if (isMediaTypeName(name)) container.mediaType = value;
    if (name !== "type") return;
    container.isNoOutput ||= isNoOutputType(value);
    // The object of the answer stands in what is around it.
    if (this.#open.length === 2) this.#type = value;
  }

  /** Returns the string that ends here; empty when it is long. */
  #shortText(start: number): string {
    const end = this.#text.length - 1;
    return end - start > MAX_NOTE_BYTES ? "" : unescaped(this.#text.latin1({ start, end }));
  }
}

/** Tells whether a member has this name that states the media type of the file in the same object. */
function isMediaTypeName(name: string): boolean {
  return name === "mimeType" || name === "mime_type";
}

function containerOf(isObject: boolean, start: number): Container {
  return {
    isObject,
    start,
    member: NO_NAME,
    url: null,
    hasLink: false,
    statesFile: false,
    mediaType: null,
    isNoOutput: false,
    isThought: false,
  };
}

/** Returns the place at which the content of a file ends; the length of the piece when it does not end there. */
function endOfContent(piece: Uint8Array, start: number, isLink: boolean): number {
  const ends = [piece.indexOf(QUOTE, start), isLink ? piece.indexOf(LINK_END, start) : -1];
  return Math.min(...ends.map((end) => (end === -1 ? piece.length : end)));
}

/**
 * Returns the characters at the beginning of a JSON string, without an escape that is cut short; empty when it is not
 * valid.
 */
function unescaped(json: string): string {
  if (!json.includes("\\")) return json;
  const text = parseJsonAsSent(`"${json.replace(CUT_ESCAPE, "")}"`);
  return typeof text === "string" ? text : "";
}

/** Returns the bytes that a whole text in base64 contains; null when it is not base64. */
function decodedWhole(base64: Uint8Array): Uint8Array | null {
  const decoder = new Base64Decoder();
  try {
    return bytesOf(decoder.push(base64), decoder.end());
  } catch (error) {
    if (error instanceof AnswerFault) return null;
    throw error;
  }
}
