/** A kind of text that clients must not read, and its replacement. */
interface Redaction {
  readonly what: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** Redactions in the order in which they are applied. All patterns are global. */
export const REDACTIONS: readonly Redaction[] = [
  {
    what: "user name and password of a URL",
    pattern: /(\b[a-z][a-z\d+.-]*:\/\/)(?:[^\s/?#"'<>]*|[^\s/?#:@"'<>]+:[^\s?#@"'<>]*)@/gi,
    replacement: "$1",
  },
  {
    what: "query and fragment of a URL",
    pattern: /(\b[a-z][a-z\d+.-]*:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi,
    replacement: "$1",
  },
  { what: "query of an incomplete URL", pattern: /\?[\w.-]+=[^\s"'<>]*/g, replacement: "" },
  { what: "hook URL", pattern: /(\/hooks\/[\w-]+\/)[^\s"'<>]+/gi, replacement: "$1…" },
  { what: "JSON Web Token", pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, replacement: "…" },
  {
    what: "Authorization header",
    pattern: /\b(authorization["']?\s*[=:]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+/gi,
    replacement: "$1…",
  },
  {
    what: "token after the name of an authentication scheme",
    pattern: /\b(bearer|basic|token|key)\s+(?=\S*\d)[\w.~+/=:-]{8,}/gi,
    replacement: "$1 …",
  },
  {
    what: "value after the name of a secret",
    pattern:
      /((?<![a-z])(?:api|access|secret)[-_ ]?key(?:[-_ ]?id)?|(?<![a-z])(?:token|secret|password|signature|credential))(["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}/gi,
    replacement: "$1$2…",
  },
  {
    what: "key with a known prefix",
    pattern: /\b(?:sk|pk|rk|r8|whsec|key|vda)[-_][\w-]{8,}/g,
    replacement: "…",
  },
  { what: "access key id", pattern: /\bA(?:KIA|SIA|KLT)[A-Z\d]{12,}/gi, replacement: "…" },
];

const MAX_BYTES = 1024;
/** Number of characters that are examined of a text, to limit the work; the rest is cut off. */
const MAX_CHARS_READ = 8192;

/**
 * Removes from an upstream's text what clients must not read, and shortens the text to 1 KB.
 * @param secrets credentials of the connection.
 */
export function publicText(text: string, secrets: readonly string[]): string {
  const longestFirst = secrets.filter(Boolean).toSorted((a, b) => b.length - a.length);
  const withoutSecrets = longestFirst
    .reduce((rest, secret) => rest.replaceAll(secret, "…"), text)
    .slice(0, MAX_CHARS_READ);
  const redacted = REDACTIONS.reduce(
    (rest, { pattern, replacement }) => rest.replace(pattern, replacement),
    withoutSecrets,
  );
  return firstBytes(redacted.trim(), MAX_BYTES);
}

function firstBytes(text: string, max: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= max) return text;
  // A character that was cut in half decodes to U+FFFD, which is dropped.
  return new TextDecoder().decode(bytes.subarray(0, max - 3)).replace(/\uFFFD$/, "") + "…";
}
