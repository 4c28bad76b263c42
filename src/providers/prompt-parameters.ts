/**
 * Parameters that older Seedance models read from a prompt, e.g. `a fox --dur 12 --rs 1080p`, by their long and short
 * names (https://www.volcengine.com/docs/82379/1520757, "legacy method").
 */
const NAMES: readonly string[] = [
  ..."resolution rs ratio rt duration dur frames framespersecond fps".split(" "),
  ..."seed camerafixed cf watermark wm".split(" "),
];

const DASH = String.raw`(?:-|\\u002d)`;
/** Pattern of an ASCII letter in a JSON text, whether it is escaped or not. */
const LETTER = String.raw`(?:[a-z]|\\u00(?:[46][1-9a-f]|[57][0-9a]))`;

/**
 * Pattern that finds these parameters in the JSON text of a request. It searches the whole text and not only the
 * prompts, which stand in a list: no JSON Pointer can name them in advance, and a second scan of the text would cost
 * more. JSON may escape each character of a parameter (`\u002d` for `-`), so the pattern accepts both spellings of
 * each. A text that only describes an escape (`\\u002d`) is found too, which no real prompt contains. Nothing in the
 * pattern is repeated without a limit, which keeps the time linear.
 */
export const PROMPT_PARAMETERS = new RegExp(
  `${DASH}{2}(?:${NAMES.map(spelled).join("|")})(?!${LETTER})`,
  "i",
);

/** Returns the pattern of a word in a JSON text in which any of its letters may be escaped, in upper or lower case. */
function spelled(word: string): string {
  return Array.from(word, (letter) => {
    const codes = [letter.toLowerCase(), letter.toUpperCase()].map((one) =>
      one.charCodeAt(0).toString(16),
    );
    return String.raw`(?:${letter}|\\u00(?:${codes.join("|")}))`;
  }).join("");
}
