import { fromBase64 } from "../../security/encoding.ts";
import { AnswerFault } from "./answer-fault.ts";

/** Pattern of a JSON escape that is cut short, at the end of a text. */
export const CUT_ESCAPE = /\\(?:u[\da-f]{0,3})?$/i;
const MAX_CUT_CHARS = 5;
const BLANKS = /[\t\n\f\r ]+/g;
const LATIN1 = new TextDecoder("latin1");

/**
 * Decodes base64 or base64url that arrives in pieces, as it stands inside a JSON string: with JSON escapes, and with
 * line breaks. The pieces may be cut anywhere.
 */
export class Base64Decoder {
  /** Beginning of a JSON escape at the end of the pieces before. */
  #cutEscape = "";
  /** Characters at the end of the pieces before that are too few to be decoded. */
  #rest = "";
  #isPadded = false;

  /**
   * Returns the bytes that the next piece of the string contains.
   * @throws AnswerFault when the string is not base64.
   */
  push(piece: Uint8Array): Uint8Array {
    const json = this.#cutEscape + LATIN1.decode(piece);
    const [cutEscape = ""] = CUT_ESCAPE.exec(json.slice(-MAX_CUT_CHARS)) ?? [];
    this.#cutEscape = cutEscape;
    const text = this.#rest + unescaped(json.slice(0, json.length - cutEscape.length));
    const length = text.length - (text.length % 4);
    this.#rest = text.slice(length);
    return this.#decoded(text.slice(0, length));
  }

  /**
   * Returns the last bytes, after the last piece.
   * @throws AnswerFault when the string was cut short.
   */
  end(): Uint8Array {
    if (this.#cutEscape !== "") throw new AnswerFault("broken");
    return this.#decoded(this.#rest);
  }

  #decoded(text: string): Uint8Array {
    if (text === "") return new Uint8Array();
    if (this.#isPadded) throw new AnswerFault("broken");
    this.#isPadded = text.endsWith("=");
    try {
      return fromBase64(text);
    } catch {
      throw new AnswerFault("broken");
    }
  }
}

/** Returns the characters of a part of a JSON string, without blanks. */
function unescaped(json: string): string {
  try {
    const text: string = JSON.parse(`"${json}"`);
    const hasBlanks = json.includes("\\") || json.includes(" ");
    return hasBlanks ? text.replaceAll(BLANKS, "") : text;
  } catch {
    throw new AnswerFault("broken");
  }
}
