/**
 * Ids of requests in the texts of upstreams, e.g. `(request id: 0217…)`. Only the operator needs them, for questions to
 * the upstream's support, so they are removed from texts for clients.
 */

/**
 * Pattern of the words that announce a request id, in the spellings of upstreams and gateways, followed by the id. The
 * id must contain a digit, so that sentences about ids do not match. After a colon the id may be short. After only a
 * space it must have at least four characters, because a sentence may continue with a short number there.
 */
const NAMED =
  /((?<![a-z\d])(?:(?:x-)?(?:extended[ _-])?(?:request|req|trace|log|correlation|ray)[ _-]?id|tid|请求 ?id)(?:["']?\s{0,3}[:=：]\s{0,3}["']?|\s{1,3}(?=[\w-]{4})))(?=[\w-]{0,127}?\d)([\w-]+)/gi;
/**
 * Pattern of a request id that begins with `req_`, which is recognised without any words before it. OpenAI and
 * Anthropic use such ids.
 */
const PREFIXED = /\breq_[A-Za-z0-9]{12,}/g;
/**
 * Private-use characters of Unicode that mark the beginning and the end of the words that announced a request id in a
 * text, after the id itself was removed.
 */
const [BEGIN, END] = ["\uE000", "\uE001"];
const MARKS = /[\uE000\uE001]/g;
/**
 * Pattern of the marked words that announced a removed request id, if they are alone in brackets, with the space before
 * the brackets.
 */
const IN_BRACKETS = /\s{0,3}[([（]\s?\uE000[^\uE000\uE001]{1,40}\uE001["']?\s?[)\]）]/g;
/**
 * Pattern of the marked words that announced a removed request id, if they are at the end of a text, where the sentence
 * does not need them.
 */
const AT_END = /(?:^|[\s,;|]{1,3})\uE000[^\uE000\uE001]{1,40}\uE001\.?\s{0,3}$/;

/** Largest number of request ids that are stored from one text. `MAX_ID_CHARS` limits the length of each. */
const MAX_IDS = 4;
const MAX_ID_CHARS = 128;

/** Returns a text without request ids. An id within a sentence is replaced by `…`. */
export function withoutRequestIds(text: string): string {
  return text
    .replace(MARKS, "")
    .replace(NAMED, `${BEGIN}$1${END}`)
    .replace(IN_BRACKETS, "")
    .replace(AT_END, "")
    .replace(MARKS, (mark) => (mark === END ? "…" : ""))
    .replace(PREFIXED, "…");
}

/** Returns the first four different request ids in a text, each cut to 128 characters. */
export function requestIdsIn(text: string): readonly string[] {
  const named = Array.from(text.matchAll(NAMED), ([, , id = ""]) => id);
  const prefixed = Array.from(text.matchAll(PREFIXED), ([id]) => id);
  const ids = [...named, ...prefixed].map((id) => id.slice(0, MAX_ID_CHARS));
  return [...new Set(ids)].slice(0, MAX_IDS);
}
