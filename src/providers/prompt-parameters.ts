/**
 * Parameters that older Seedance models read from a prompt, e.g. `a fox --dur 12 --rs 1080p`, by their long and short
 * names (https://www.volcengine.com/docs/82379/1520757, "legacy method").
 */
const PARAMETER =
  /--(?:resolution|rs|ratio|rt|duration|dur|frames|framespersecond|fps|seed|camerafixed|cf|watermark|wm)(?![a-z])/i;
/** Escape of an ASCII character in a JSON text, e.g. `\u002d` for a dash. */
const ASCII_ESCAPE = /\\u00([0-7][\da-f])/gi;

/**
 * Tells whether the JSON text of a request has such a parameter. The whole text is searched and not only the prompts,
 * which stand in a list: no JSON Pointer can name them in advance, and a second scan of the text would cost more. JSON
 * may escape each character, so escapes are replaced first. A text that only describes an escape (`\\u002d`) is found
 * too, which no real prompt contains.
 */
export function hasPromptParameters(json: string): boolean {
  return PARAMETER.test(
    json.replaceAll(ASCII_ESCAPE, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  );
}
