import type { Runtime } from "../../config/runtime.ts";
import { areSpelledIn, readingsOf } from "../../security/spellings.ts";
import { isKeyOfRelay } from "../http/auth.ts";
import { MIN_KEY_CHARS } from "../http/key-owner.ts";
import { invalidRequest } from "../http/problem.ts";
import { CREDENTIAL_HEADERS, KEY_HEADERS } from "./customer-credential.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/** Largest number of words of a text that are compared with API keys of the relay. */
const MAX_WORDS = 64;
/** Pattern of the characters that separate an API key from other parts of a text. */
const SEPARATORS = /[\s"'`,;=<>()[\]{}]+/;

/**
 * Refuses a call that would send an API key of the relay to the upstream, e.g. because the caller has put the key into
 * the wrong header or the query. The caller's own key is found anywhere in a text and in any encoding, any other key of
 * the relay only as a separate word.
 * @throws Problem `invalid_request` when the call contains a key of the relay.
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

/** Returns the texts in a call that may be the key by which the caller has identified itself to the relay. */
function ownKeysOf({ headers, keyOwner }: UpstreamCall): readonly string[] {
  const names = keyOwner === "customer" ? ["Relay-Key"] : KEY_HEADERS;
  return names.flatMap((name) => {
    const key = headers.get(name)?.trim().split(/\s+/).at(-1) ?? "";
    return key.length < MIN_KEY_CHARS ? [] : key;
  });
}

/**
 * Returns the parts of a call in which no API key of the relay may be: the query, and all headers except those for the
 * relay itself and those that the relay replaces by the key of the connection.
 */
function partsOf({ headers, query, keyOwner }: UpstreamCall) {
  const replaced = keyOwner === "customer" ? [] : CREDENTIAL_HEADERS;
  const exempt = new Set(replaced.map((name) => name.toLowerCase()));
  const names = new Map(CREDENTIAL_HEADERS.map((name) => [name.toLowerCase(), name]));
  const given = [...headers].filter(([name]) => !exempt.has(name) && !name.startsWith("relay-"));
  const parts = given.map(([name, text]) => ({ path: `/${names.get(name) ?? name}`, text }));
  return query === "" ? parts : [...parts, { path: "/query", text: query }];
}

/** Tells whether a text contains, plainly or encoded, a word that is an API key of the relay. */
async function hasKeyOfRelay(text: string, runtime: Runtime): Promise<boolean> {
  const words = readingsOf(text).flatMap((reading) => [
    ...reading.split(/\s+/),
    ...reading.split(SEPARATORS),
  ]);
  const long = [...new Set(words)].filter(({ length }) => length >= MIN_KEY_CHARS);
  const checks = long.slice(0, MAX_WORDS).map((word) => isKeyOfRelay(word, runtime));
  return (await Promise.all(checks)).includes(true);
}
