/**
 * What may stand in no log, and, but for the routes that give it on purpose, in no answer. The suite's own
 * secrets are named so that they can be told from everything else; what the relay makes of them has a shape.
 */
const SHAPES = [
  ["configured", /(?:test-only|process-test)-(?:\w+-)*(?:key|secret|token)/],
  // What a client, an upstream or a receiver says, in tests that look for it.
  ["planted", /planted-(?:marker|token|body)/],
  ["hmacSecret", /whsec_[A-Za-z0-9+/]{16,}/],
  ["privateKey", /"d"\s*:\s*"[\w-]{43}"/],
  ["accountKey", /trk_[\w-]+_[0-9a-f]{48}/],
  ["hookUrl", /\/hooks\/[a-z0-9-]+\/[0-9a-f-]{36}\/[\w-]{43}/i],
  ["credential", /\bBearer [\w~+/.-]{8,}/i],
  ["signature", /\bv1a?,[A-Za-z0-9+/]{43,}/],
] as const;

export type Shape = (typeof SHAPES)[number][0];

const CONTEXT_CHARS = 60;

/** Secrets of this process' tests that have no shape of their own. */
const planted = new Set<string>();

/** From now on none of these may be in what a server of ours writes. */
export function plant(...secrets: readonly string[]): void {
  for (const secret of secrets) planted.add(secret);
}

/** The secrets in a text, each with what stands before it. @param allowed shapes that belong there. */
export function leaksIn(text: string, allowed: readonly Shape[] = []): readonly string[] {
  const shaped = SHAPES.filter(([shape]) => !allowed.includes(shape)).flatMap(
    ([shape, pattern]) => {
      const at = text.search(pattern);
      return at === -1 ? [] : [leak(shape, text, at)];
    },
  );
  const known = [...planted].flatMap((secret) => {
    const at = text.indexOf(secret);
    return at === -1 ? [] : [leak("planted secret", text, at)];
  });
  return [...shaped, ...known];
}

/** @throws when there is a secret in the text. */
export function refuseLeaks(where: string, text: string, allowed: readonly Shape[] = []): void {
  const leaks = leaksIn(text, allowed);
  if (leaks.length > 0) throw new Error(`a secret is in ${where}:\n${leaks.join("\n")}`);
}

/** What the answer of a route holds on purpose. */
const GIVEN: readonly (readonly [RegExp, readonly Shape[]])[] = [
  [/^GET \/v1\/signing-secrets$/, ["hmacSecret"]],
  [/^(?:GET|POST) \/v1\/accounts\/[^/]+\/signing-secrets$/, ["hmacSecret"]],
  [/^POST \/v1\/accounts\/[^/]+\/keys$/, ["accountKey"]],
  [/^POST \/v1\/tasks$/, ["hookUrl"]],
];

/** @throws when an answer of the relay holds a secret that is not that route's to give. */
export function refuseLeaksInAnswer(route: string, headers: Headers, body: string): void {
  const path = route.split("?")[0] ?? "";
  const given = GIVEN.flatMap(([pattern, shapes]) => (pattern.test(path) ? shapes : []));
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  // Clients read their own words again: labels, URLs, and the operator what receivers answered.
  refuseLeaks(`the answer of ${path}`, [...lines, body].join("\n"), ["planted", ...given]);
}

function leak(what: string, text: string, at: number): string {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARS), at);
  return `${what} after ${JSON.stringify(before)}`;
}
