/**
 * Secrets that must not be in a log, nor in an answer of a route that does not give them on purpose. Those
 * of the tests are recognized by their names, and those that the relay derives by their shapes.
 */
const SHAPES = [
  ["configured", /(?:test-only|process-test)-(?:\w+-)*(?:key|secret|token)/],
  // Texts of clients, upstreams and receivers in tests that search for them.
  ["planted", /planted-(?:marker|token|body)/],
  ["hmacSecret", /whsec_[A-Za-z0-9+/]{16,}/],
  ["privateKey", /"d"\s*:\s*"[\w-]{43}"/],
  ["accountKey", /trk_[\w-]+_[0-9a-f]{48}/],
  ["hookUrl", /\/hooks\/[a-z0-9-]+\/[0-9a-f-]{36}\/[\w-]{43}/i],
  ["statusToken", /\bst_\d{6,11}_\d{6,11}_[\w-]{43}/],
  ["credential", /\bBearer [\w~+/.-]{8,}/i],
  ["signature", /\bv1a?,[A-Za-z0-9+/]{43,}/],
] as const;

export type Shape = (typeof SHAPES)[number][0];

const CONTEXT_CHARS = 60;

/** Secrets without a recognisable form, of the tests in this process. */
const planted = new Set<string>();

/** Adds texts to the secrets that `leaksIn` finds. */
export function plant(...secrets: readonly string[]): void {
  for (const secret of secrets) planted.add(secret);
}

/**
 * Finds secrets, and returns the text before each. @param allowed patterns of secrets that are allowed in
 * these texts.
 */
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

/** Requires that the text contains no secret. @throws when it contains one. */
export function refuseLeaks(where: string, text: string, allowed: readonly Shape[] = []): void {
  const leaks = leaksIn(text, allowed);
  if (leaks.length > 0) throw new Error(`a secret is in ${where}:\n${leaks.join("\n")}`);
}

/** Routes that return secrets on purpose, with the patterns of these secrets. */
const GIVEN: readonly (readonly [RegExp, readonly Shape[]])[] = [
  [/^GET \/v1\/signing-secrets$/, ["hmacSecret"]],
  [/^(?:GET|POST) \/v1\/accounts\/[^/]+\/(?:endpoints\/[^/]+\/)?signing-secrets$/, ["hmacSecret"]],
  [/^(?:GET|POST) \/v1\/endpoints\/[^/]+\/signing-secrets$/, ["hmacSecret"]],
  [/^POST \/v1\/accounts\/[^/]+\/keys$/, ["accountKey"]],
  [/^POST \/v1\/tasks$/, ["hookUrl", "statusToken"]],
  // These routes show a request as the receiver gets it.
  [/^POST \/v1\/callbacks\/test$/, ["signature"]],
  [/^GET \/v1\/tasks\/[^/]+\/attempts\/\d+\/request$/, ["signature"]],
];

/**
 * Requires that an answer contains only secrets that its route returns on purpose. @throws when it contains
 * another one.
 */
export function refuseLeaksInAnswer(route: string, headers: Headers, body: string): void {
  const path = route.split("?")[0] ?? "";
  const given = GIVEN.flatMap(([pattern, shapes]) => (pattern.test(path) ? shapes : []));
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  // Clients read labels and URLs of their own, and the operator reads the answers of receivers.
  refuseLeaks(`the answer of ${path}`, [...lines, body].join("\n"), ["planted", ...given]);
}

function leak(what: string, text: string, at: number): string {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARS), at);
  return `${what} after ${JSON.stringify(before)}`;
}
