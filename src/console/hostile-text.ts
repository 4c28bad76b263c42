import { countText } from "./format.ts";

/** Largest number of characters that a page shows of a text that someone else has written. */
const SHOWN_CHARACTERS = 2000;

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
 * seen are named (`U+202E`), and what is beyond 2,000 characters is counted.
 */
export function textParts(text: string): readonly TextPart[] {
  const characters = Array.from(text);
  const shown = characters.slice(0, SHOWN_CHARACTERS);
  const parts: TextPart[] = [];
  let plain = "";
  const endPlain = () => {
    if (plain !== "") parts.push({ kind: "text", text: plain });
    plain = "";
  };
  for (const character of shown) {
    if (HIDDEN.test(character) && !LAYOUT.has(character)) {
      endPlain();
      parts.push({ kind: "hidden", text: nameOf(character) });
    } else {
      plain += character;
    }
  }
  endPlain();
  const rest = characters.length - shown.length;
  if (rest > 0) parts.push({ kind: "rest", text: `… ${countText(rest)} more characters` });
  return parts;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
