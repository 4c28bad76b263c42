/**
 * Pattern of the parameters that older Seedance models read from a prompt, by their long and short names, e.g. in `a
 * fox --dur 12 --rs 1080p` (https://www.volcengine.com/docs/82379/1520757, "legacy method").
 */
const PARAMETER =
  /--(?:resolution|rs|ratio|rt|duration|dur|frames|framespersecond|fps|seed|camerafixed|cf|watermark|wm)(?![a-z])/i;
/** Escape of an ASCII character in a JSON text, e.g. `\u002d` for a dash. */
const ASCII_ESCAPE = /\\u00([0-7][\da-f])/gi;

/**
 * Length in characters of the parts into which a text is divided for the search. Replacing all escapes of a large text
 * at once would take too much memory.
 */
const PART_CHARS = 64 * 1024;
/**
 * Upper limit in characters for the longest parameter together with the character after it and an escape that is cut
 * off at the end of a part.
 */
const LONGEST_CHARS = 32;
/**
 * Number of characters by which two successive parts of the text overlap, so that each parameter is completely inside
 * one part, even if all its characters are escaped.
 */
const OVERLAP_CHARS = LONGEST_CHARS * String.raw`\u002d`.length;

/**
 * Tells whether the JSON text of a request contains a parameter that older Seedance models read from a prompt. The
 * whole text is searched and not only the prompts: these are in a list, so that no JSON Pointer can name them in
 * advance. JSON may escape each character, so escapes are replaced first. A text that only describes an escape
 * (`\\u002d`) is found too; real prompts do not contain one.
 */
export function hasPromptParameters(json: string): boolean {
  for (let start = 0; start < json.length; start += PART_CHARS) {
    const end = start + PART_CHARS + OVERLAP_CHARS;
    const text = unescaped(json.slice(start, end));
    const at = text.search(PARAMETER);
    // What follows a name at the end of a part may continue the name: the next part has both.
    if (at >= 0 && (end >= json.length || at + LONGEST_CHARS <= text.length)) return true;
  }
  return false;
}

function unescaped(json: string): string {
  return json.replaceAll(ASCII_ESCAPE, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
