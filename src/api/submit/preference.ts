/** Name of the preference with which a client asks for a response before the upstream has answered (RFC 7240 §4.1). */
export const RESPOND_ASYNC = "respond-async";

/** Pattern of the preferences in the header `Prefer`, between commas that are not inside a quoted text. */
const PREFERENCE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
/** Pattern of the preference `respond-async` with any parameters; an empty value counts as none. */
const ASYNC = /^\s*respond-async\s*(?:=\s*(?:""\s*)?)?(?:;|$)/i;

/** A request's headers for the upstream, and whether the client asks the relay for a response at once. */
interface Preferring {
  readonly isAsync: boolean;
  readonly headers: Headers;
}

/**
 * Takes the preference `respond-async`, which is for the relay, out of the header `Prefer`. All other preferences stay
 * for the upstream, spelled as they are. Headers without this preference are returned unchanged.
 */
export function readPreference(given: Headers): Preferring {
  const stated = given.get("Prefer")?.match(PREFERENCE) ?? [];
  const all = stated.filter((each) => each.trim() !== "");
  const others = all.filter((each) => !ASYNC.test(each));
  if (others.length === all.length) return { isAsync: false, headers: given };
  const headers = new Headers(given);
  if (others.length === 0) headers.delete("Prefer");
  else headers.set("Prefer", others.join(",").trim());
  return { isAsync: true, headers };
}
