import { countText } from "./format.ts";

/** Largest number of characters that a page shows of a text that someone else has written. */
const SHOWN_CHARACTERS = 2000;
/**
 * Largest number of invisible characters of a text in place of which a page shows their names. A name takes some 35
 * bytes of the page.
 */
const NAMED_CHARACTERS = 100;

/**
 * A part of a text: either shown as it is, or the name of a character that is invisible or changes the order
 * of the text.
 */
export interface TextPart {
  readonly kind: "text" | "hidden" | "rest";
  readonly text: string;
}

/**
 * Matches characters that cannot be seen: controls, marks of direction or without width, halves of surrogate
 * pairs, separators of lines, and fillers that look like nothing.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u;
/** Control characters that only lay out text (tab, line break) and are shown as they are. */
const LAYOUT = new Set(["\t", "\n"]);

/**
 * Divides a text that a receiver, an upstream or a client has written into parts: characters that cannot be
 * seen are named (`U+202E`), and what is beyond 2,000 characters, or beyond 100 named ones, is counted. Takes
 * little memory also for a text of megabytes.
 */
export function textParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let plain = "";
  let shown = 0;
  let named = 0;
  let end = 0;
  const endPlain = () => {
    if (plain !== "") parts.push({ kind: "text", text: plain });
    plain = "";
  };
  // A character has at most two UTF-16 units.
  for (const character of text.slice(0, 2 * SHOWN_CHARACTERS)) {
    const isHidden = HIDDEN.test(character) && !LAYOUT.has(character);
    if (shown === SHOWN_CHARACTERS || (isHidden && named === NAMED_CHARACTERS)) break;
    if (isHidden) {
      endPlain();
      parts.push({ kind: "hidden", text: nameOf(character) });
      named++;
    } else {
      plain += character;
    }
    shown++;
    end += character.length;
  }
  endPlain();
  const rest = charactersFrom(text, end);
  if (rest > 0) parts.push({ kind: "rest", text: `… ${countText(rest)} more characters` });
  return parts;
}

/** Counts the characters of a text from a position on; a pair of surrogates is one character. */
function charactersFrom(text: string, start: number): number {
  let count = 0;
  for (let at = start; at < text.length; count++)
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
