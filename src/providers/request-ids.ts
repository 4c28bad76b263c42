/**
 * Ids of requests in the texts of upstreams, e.g. `(request id: 0217…)`. They are of use to the operator, who names them
 * to the upstream's support, and to nobody else.
 */

/**
 * Pattern of the name of an id of a request, in the spellings of upstreams and gateways, with the id behind it: a word
 * with a digit, which tells it from what a sentence says about ids. Behind a colon the id may be short; behind a blank
 * alone it has four characters, because a sentence may go on with a number there.
 */
const NAMED =
  /((?<![a-z\d])(?:(?:x-)?(?:extended[ _-])?(?:request|req|trace|log|correlation|ray)[ _-]?id|tid|请求 ?id)(?:["']?\s{0,3}[:=：]\s{0,3}["']?|\s{1,3}(?=[\w-]{4})))(?=[\w-]{0,127}?\d)([\w-]+)/gi;
/**
 * Pattern of an id that is recognised by its beginning `req_`, without a name before it, as those of OpenAI and
 * Anthropic do.
 */
const PREFIXED = /\breq_[A-Za-z0-9]{12,}/g;
/** Characters for private use, between which the name of an id stands after the id was removed. */
const [BEGIN, END] = ["\uE000", "\uE001"];
const MARKS = /[\uE000\uE001]/g;
/** Pattern of a name alone in brackets, with the space before it. */
const IN_BRACKETS = /\s{0,3}[([（]\s?\uE000[^\uE000\uE001]{1,40}\uE001["']?\s?[)\]）]/g;
/** Pattern of a name at the end of a text, which is not needed for its sentence. */
const AT_END = /(?:^|[\s,;|]{1,3})\uE000[^\uE000\uE001]{1,40}\uE001\.?\s{0,3}$/;

/** Largest number of ids that are kept of a text; `MAX_ID_CHARS` limits the characters of each. */
const MAX_IDS = 4;
const MAX_ID_CHARS = 128;

/** Returns a text without the ids of requests: with `…` in place of those that stand in a sentence. */
export function withoutRequestIds(text: string): string {
  return text
    .replace(MARKS, "")
    .replace(NAMED, `${BEGIN}$1${END}`)
    .replace(IN_BRACKETS, "")
    .replace(AT_END, "")
    .replace(MARKS, (mark) => (mark === END ? "…" : ""))
    .replace(PREFIXED, "…");
}

/** Returns the ids of requests in a text, each once: the first four, of at most 128 characters each. */
export function requestIdsIn(text: string): readonly string[] {
  const named = Array.from(text.matchAll(NAMED), ([, , id = ""]) => id);
  const prefixed = Array.from(text.matchAll(PREFIXED), ([id]) => id);
  const ids = [...named, ...prefixed].map((id) => id.slice(0, MAX_ID_CHARS));
  return [...new Set(ids)].slice(0, MAX_IDS);
}
