import type { FailureCategory } from "../core/record/task.ts";
import type { UpstreamFailure } from "../core/record/upstream.ts";

/** What a provider says of a failure. */
export interface UpstreamError {
  readonly code: string | null;
  readonly text: string | null;
  /** Where the code alone tells it; otherwise it is told from code and text. */
  readonly category?: FailureCategory;
}

/** How much of the upstream's own text clients read. */
export interface ErrorText {
  /** `ERROR_TEXT=generic`: none of it. */
  readonly isGeneric: boolean;
  /** What must never be in it: the credentials of the connection. */
  readonly secrets: readonly string[];
}

const MAX_MESSAGE_BYTES = 1024;
/** More is never shown, and searching it for credentials takes time. */
const MAX_CHARS_READ = 8192;
const GENERIC = "The upstream reported a failure.";
const RETRYABLE: readonly FailureCategory[] = ["rate_limited", "timeout", "provider"];

/** Told by a word in the provider's code or text; the first that fits. */
const CATEGORIES: readonly (readonly [FailureCategory, RegExp])[] = [
  [
    "moderation",
    /sensitive|moderat|content.?polic|polic(y|ies).?violat|nsfw|safety|inappropriate|prohibited|risk.?control|copyright/i,
  ],
  ["rate_limited", /rate.?limit|too.?many.?requests|quota|throttl|\b429\b/i],
  ["timeout", /time(d)?.?out|expired/i],
  ["canceled", /cancell?ed/i],
  ["invalid_input", /invalid|unsupported|validation|malformed|\b422\b|bad.?request/i],
];

/** The failure that a client reads: `upstream_error`, with the provider's text where there is one. */
export function failureOf(
  state: string,
  error: UpstreamError | null,
  errorText: ErrorText,
): UpstreamFailure {
  const code = error?.code ?? null;
  const text = error?.text ?? null;
  const category = error?.category ?? categoryOf(`${state} ${code ?? ""} ${text ?? ""}`);
  const said = text ?? (code === null ? `The task ended upstream as "${state}".` : `"${code}"`);
  const message = errorText.isGeneric ? GENERIC : publicText(said, errorText.secrets);
  return {
    status: "failed",
    error: { code: "upstream_error", message },
    failure: { category, retryable: RETRYABLE.includes(category) },
  };
}

function categoryOf(said: string): FailureCategory {
  return CATEGORIES.find(([, pattern]) => pattern.test(said))?.[0] ?? "provider";
}

/**
 * Without what a client must not see: user names and queries of URLs, our hook URLs, keys and tokens.
 * At most 1 KB.
 */
export function publicText(text: string, secrets: readonly string[]): string {
  const longestFirst = secrets.filter(Boolean).toSorted((a, b) => b.length - a.length);
  const cleaned = longestFirst
    .reduce((rest, secret) => rest.replaceAll(secret, "…"), text)
    .slice(0, MAX_CHARS_READ)
    .replace(/(\b[a-z][a-z\d+.-]*:\/\/)(?:[^\s/?#"'<>]*|[^\s/?#:@"'<>]+:[^\s?#@"'<>]*)@/gi, "$1")
    .replace(/(\b[a-z][a-z\d+.-]*:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi, "$1")
    .replace(/\?[\w.-]+=[^\s"'<>]*/g, "")
    .replace(/(\/hooks\/[\w-]+\/)[^\s"'<>]+/gi, "$1…")
    .replace(/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, "…")
    .replace(/\b(authorization["']?\s*[=:]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+/gi, "$1…")
    .replace(/\b(bearer|basic|token|key)\s+(?=\S*\d)[\w.~+/=:-]{8,}/gi, "$1 …")
    .replace(
      /((?<![a-z])(?:api|access|secret)[-_ ]?key(?:[-_ ]?id)?|(?<![a-z])(?:token|secret|password|signature|credential))(["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}/gi,
      "$1$2…",
    )
    .replace(/\b(?:sk|pk|rk|r8|whsec|key|vda)[-_][\w-]{8,}/g, "…")
    .replace(/\bA(?:KIA|SIA|KLT)[A-Z\d]{12,}/gi, "…");
  return firstBytes(cleaned.trim(), MAX_MESSAGE_BYTES) || GENERIC;
}

function firstBytes(text: string, max: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= max) return text;
  // A character that was cut in half decodes to U+FFFD, which is dropped.
  return new TextDecoder().decode(bytes.subarray(0, max - 3)).replace(/\uFFFD$/, "") + "…";
}
