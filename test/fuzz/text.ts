import type { Choices } from "./choices.ts";

/** Pieces that readers of text stumble over. */
const PIECES = [
  " ",
  "\t",
  "\n",
  "\u0000",
  "\u007f",
  "\ud800",
  "\udc00",
  "\u{1f600}",
  "\u00ad",
  "\u202e",
  "\ufeff",
  "ß",
  "İ",
  "0",
  "9",
  "-",
  ".",
  "/",
  "//",
  "\\",
  "%",
  "%00",
  "%2f",
  "@",
  ":",
  "?",
  "#",
  "=",
  ",",
  ";",
  "+",
  "~1",
  "__proto__",
  "e9",
  "🏳️‍🌈",
] as const;

/** `text` with one change. */
export function mutatedText(text: string, choices: Choices): string {
  const at = choices.below(text.length + 1);
  return choices.pick([
    () => text.slice(0, at),
    () => text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, at) + choices.pick(PIECES) + text.slice(at),
    () => text.slice(0, at) + choices.pick(PIECES) + text.slice(at + 1),
    () => text.slice(0, at) + String.fromCharCode(choices.below(256)) + text.slice(at + 1),
    () => text.slice(0, at) + text.slice(0, at) + text.slice(at),
    () => text.toUpperCase(),
    () => text + choices.pick(PIECES),
    () => choices.pick(PIECES) + text,
    () => text + text.slice(-1).repeat(choices.pick([1, 64, 256, 2048])),
  ])();
}

/** With up to `most` changes, often none. */
export function mutatedOften(text: string, choices: Choices, most = 3): string {
  let changed = text;
  for (let left = choices.below(most + 1); left > 0; left--)
    changed = mutatedText(changed, choices);
  return changed;
}

/** Only what a header can carry. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, "");
}
