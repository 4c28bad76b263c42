/** A part of a JSON text, e.g. a string or a number. Its kind decides its colour. */
interface CodeToken {
  readonly kind: "key" | "string" | "number" | "word" | "plain";
  readonly text: string;
}

// A string without its closing quotation mark reaches to the end. If it were none, every quotation mark in it
// would be searched for its end.
const TOKEN =
  /(?<key>"(?:[^"\\]|\\[^])*"(?=\s*:))|(?<string>"(?:[^"\\]|\\[^])*"?)|(?<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?<word>true|false|null)/gi;

/**
 * Divides a JSON text into tokens, so that each can be coloured by its kind. The joined tokens are the original text.
 */
export function codeTokens(text: string): readonly CodeToken[] {
  const tokens: CodeToken[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) tokens.push({ kind: "plain", text: text.slice(end, match.index) });
    const kind = KINDS.find((each) => match.groups?.[each] !== undefined) ?? "plain";
    tokens.push({ kind, text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length) tokens.push({ kind: "plain", text: text.slice(end) });
  return tokens;
}

const KINDS = ["key", "string", "number", "word"] as const;
