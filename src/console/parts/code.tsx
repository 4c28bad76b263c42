import { Copy } from "./copy.tsx";

interface CodeProps {
  readonly text: string;
  /** Words for what the code is, which become part of the label of its copy button. */
  readonly what: string;
  /** Heading above the code. */
  readonly title?: string;
  readonly language?: "json" | "plain";
}

/** Code with a button to copy it. */
export function Code({ text, what, title, language = "plain" }: CodeProps) {
  return (
    <div class="code">
      {title === undefined ? null : <div class="code-head">{title}</div>}
      <Copy text={null} what={what} />
      <pre>
        <code>{language === "json" ? highlighted(text) : text}</code>
      </pre>
    </div>
  );
}

function highlighted(text: string) {
  return codeTokens(text).map(({ kind, text: part }) =>
    kind === "plain" ? part : <span class={kind}>{part}</span>,
  );
}

/** A part of a JSON text, e.g. a string or a number, with the type that decides its colour. */
interface CodeToken {
  readonly kind: "key" | "string" | "number" | "word" | "plain";
  readonly text: string;
}

// A string without its closing quotation mark reaches to the end. If it were none, every quotation mark in it
// would be searched for its end.
const TOKEN =
  /(?<key>"(?:[^"\\]|\\[^])*"(?=\s*:))|(?<string>"(?:[^"\\]|\\[^])*"?)|(?<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?<word>true|false|null)/gi;

/**
 * Divides a JSON text into tokens, so that each can be coloured by its type. Joined, the tokens are the original text.
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

/** Largest length in characters, with and without indentation, of a JSON text that is shown with indentation. */
const INDENTED_CHARACTERS = 8_192;

/**
 * Returns a value as JSON text with indentation. A long text has no indentation, because in a deeply nested value it
 * would make the text up to sixty times as long, and a page shows only the first part of a long text.
 */
export function indentedJson(value: unknown): string {
  const compact = JSON.stringify(value);
  if (compact.length > INDENTED_CHARACTERS) return compact;
  const indented = JSON.stringify(value, null, 2);
  return indented.length > INDENTED_CHARACTERS ? compact : indented;
}
