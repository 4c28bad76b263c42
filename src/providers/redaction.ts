import { firstChars } from "../core/text.ts";
import { hideSecrets } from "../security/spellings.ts";
import { withoutRequestIds } from "./request-ids.ts";

/** A kind of text that clients must not read, with the function that removes it. The function takes linear time. */
interface Redaction {
  readonly what: string;
  readonly redact: (text: string) => string;
}

/** Kinds of texts that are removed from an upstream's text before clients may read it, in the order of the removal. */
export const REDACTIONS: readonly Redaction[] = [
  { what: "user name and password of a URL", redact: inWords(withoutUserinfo) },
  { what: "query and fragment of a URL", redact: inWords(withoutQuery) },
  { what: "query of an incomplete URL", redact: replacing(/\?[\w.-]+=[^\s"'<>]*/g, "") },
  { what: "hook URL", redact: replacing(/(\/hooks\/[\w-]+\/)[^\s"'<>]+/gi, "$1…") },
  {
    what: "JSON Web Token",
    // The lookahead refuses a run of characters without a dot once and not again at every "eyJ" in it, which keeps
    // the time linear.
    redact: replacing(
      /(?<![\w-])(?=[\w-]+\.[\w-])((?:[\w-]*?-)??)eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
      "$1…",
    ),
  },
  {
    what: "Authorization header",
    redact: replacing(/\b(authorization["']?\s*[=:]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+/gi, "$1…"),
  },
  {
    what: "token after the name of an authentication scheme",
    redact: replacing(/\b(bearer|basic|token|key)\s+(?=\S*\d)[\w.~+/=:-]{8,}/gi, "$1 …"),
  },
  {
    what: "value after the name of a secret",
    redact: replacing(
      /((?<![a-z])(?:api|access|secret)[-_ ]?key(?:[-_ ]?id)?|(?<![a-z])(?:token|secret|password|signature|credential))(["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}/gi,
      "$1$2…",
    ),
  },
  {
    what: "key with a known prefix",
    redact: replacing(/\b(?:sk|pk|rk|r8|whsec|key|vda)[-_][\w-]{8,}/g, "…"),
  },
  { what: "access key id", redact: replacing(/\bA(?:KIA|SIA|KLT)[A-Z\d]{12,}/gi, "…") },
  { what: "request id", redact: withoutRequestIds },
];

const MAX_BYTES = 1024;
/** Largest number of characters of an upstream's text that are examined, to limit the work. The rest is cut off. */
export const MAX_CHARS_READ = 8192;

/**
 * Returns an upstream's text in a form that clients may read: without secrets (such as tokens and hook URLs), without
 * ids of requests, and at most 1 KB long.
 * @param secrets credentials of the connection.
 */
export function publicText(text: string, secrets: readonly string[]): string {
  const examined = firstChars(hideSecrets(text, secrets), MAX_CHARS_READ);
  const redacted = REDACTIONS.reduce((rest, { redact }) => redact(rest), examined);
  return firstBytes(redacted.trim(), MAX_BYTES);
}

function firstBytes(text: string, max: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= max) return text;
  // With `stream`, the decoder leaves out a character of which only a part remains.
  return new TextDecoder().decode(bytes.subarray(0, max - 3), { stream: true }) + "…";
}

/**
 * Returns a function that replaces each match of a pattern in a text by `replacement`.
 * @param pattern pattern with the flag `g`.
 */
function replacing(pattern: RegExp, replacement: string): Redaction["redact"] {
  return (text) => text.replace(pattern, replacement);
}

/**
 * Returns a function that replaces each word of a text by the result of `redactWord`. Words are the parts of the text
 * between spaces, quotes and angle brackets, so that a URL is one word.
 */
function inWords(redactWord: (word: string) => string): Redaction["redact"] {
  return (text) => text.replace(/[^\s"'<>]+/g, redactWord);
}

function withoutUserinfo(word: string): string {
  const [before = "", ...rest] = word.split("://");
  const shown = rest.map((part) => {
    const end = part.search(/[/?#]/);
    const userinfoEnd = part.lastIndexOf("@", end < 0 ? part.length : end) + 1;
    // A password may contain a slash.
    return userinfoEnd > 0 ? part.slice(userinfoEnd) : part.replace(/^[^/?#:@]+:[^?#@]*@/, "");
  });
  return [before, ...shown].join("://");
}

function withoutQuery(word: string): string {
  const start = word.indexOf("://");
  const length = start < 0 ? -1 : word.slice(start).search(/[?#]/);
  return length < 0 ? word : word.slice(0, start + length);
}
