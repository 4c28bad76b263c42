import type { Runtime } from "../../config/runtime.ts";
import { areSpelledIn, readingsOf } from "../../security/spellings.ts";
import { isKeyOfRelay } from "../http/auth.ts";
import { invalidRequest } from "../http/problem.ts";
import { CREDENTIAL_HEADERS, KEY_HEADERS } from "./customer-credential.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** Fewest characters of a key of the relay. */
const MIN_KEY_CHARS = 16;
/** Largest number of words that are compared with the keys of the relay. */
const MAX_WORDS = 64;
/** Pattern of what stands between a key and other parts of a text. */
const SEPARATORS = /[\s"'`,;=<>()[\]{}]+/;

/**
 * Refuses a call that would bring a key of the relay to the upstream: a caller may have put it into the wrong header or the
 * query, alone or within another text. The caller's own key is found in any spelling, another key of the relay where it is
 * a word.
 * @throws Problem `invalid_request`.
 */
export async function refuseRelayKeys(call: UpstreamCall, runtime: Runtime): Promise<void> {
  const own = ownKeysOf(call);
  const parts = partsOf(call);
  const all = parts.map(({ text }) => text).join("\n");
  if (!areSpelledIn(all, own) && !(await hasKeyOfRelay(all, runtime))) return;
  for (const { path, text } of parts) {
    if (!areSpelledIn(text, own) && !(await hasKeyOfRelay(text, runtime))) continue;
    const isCredential = CREDENTIAL_HEADERS.some((name) => `/${name}` === path);
    const message = isCredential
      ? "must have your own key of the upstream, and not the relay's"
      : "must not contain a key of the relay, which no upstream may get";
    throw invalidRequest([{ path, message }]);
  }
}

/** Returns the keys by which the caller may have identified itself at the relay. */
function ownKeysOf({ headers, keyOwner }: UpstreamCall): readonly string[] {
  const names = keyOwner === "customer" ? ["Relay-Key"] : KEY_HEADERS;
  return names.flatMap((name) => {
    const key = headers.get(name)?.trim().split(/\s+/).at(-1) ?? "";
    return key.length < MIN_KEY_CHARS ? [] : key;
  });
}

/**
 * Returns the parts of a call in which no key of the relay may stand: the query, and all headers but those for the relay and
 * those in whose place the key of the connection goes up.
 */
function partsOf({ headers, query, keyOwner }: UpstreamCall) {
  const replaced = keyOwner === "customer" ? [] : CREDENTIAL_HEADERS;
  const exempt = new Set(replaced.map((name) => name.toLowerCase()));
  const names = new Map(CREDENTIAL_HEADERS.map((name) => [name.toLowerCase(), name]));
  const given = [...headers].filter(([name]) => !exempt.has(name) && !name.startsWith("relay-"));
  const parts = given.map(([name, text]) => ({ path: `/${names.get(name) ?? name}`, text }));
  return query === "" ? parts : [...parts, { path: "/query", text: query }];
}

/** Tells whether a word of a text, in any spelling, is a key of the relay. */
async function hasKeyOfRelay(text: string, runtime: Runtime): Promise<boolean> {
  const words = readingsOf(text).flatMap((reading) => [
    ...reading.split(/\s+/),
    ...reading.split(SEPARATORS),
  ]);
  const long = [...new Set(words)].filter(({ length }) => length >= MIN_KEY_CHARS);
  const checks = long.slice(0, MAX_WORDS).map((word) => isKeyOfRelay(word, runtime));
  return (await Promise.all(checks)).includes(true);
}
