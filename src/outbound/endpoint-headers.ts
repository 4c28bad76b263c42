import type { AttemptResult } from "../core/record/callback.ts";
import type { EndpointCopy } from "../core/record/endpoint-copy.ts";
import { hiddenTexts } from "../security/hidden-texts.ts";
import type { Keyring } from "../security/keyring.ts";
import { type HeaderValues, openHeaders } from "../security/sealed-headers.ts";
import { hideSecrets } from "../security/spellings.ts";

/** Smallest length of the beginning of a secret that is removed from the end of a text. */
const MIN_START_CHARS = 4;

/**
 * Returns the headers of the endpoint that gets a callback, with their values. There are none without an endpoint.
 * @returns null when they cannot be decrypted any more.
 */
export async function headersOfEndpoint(
  endpoint: EndpointCopy | undefined,
  account: string | null,
  { headerKeys }: Pick<Keyring, "headerKeys">,
): Promise<HeaderValues | null> {
  if (endpoint?.headers === undefined) return {};
  return await openHeaders(endpoint.headers, { account, name: endpoint.name }, headerKeys);
}

/**
 * Returns the result of an attempt in which `…` replaces the values of the endpoint's headers, because a receiver may
 * repeat them in its answer, of which excerpts are stored and shown.
 */
export function withoutHeaderValues(result: AttemptResult, headers: HeaderValues): AttemptResult {
  const words = Object.values(headers).flatMap((value) => [value, ...value.split(" ")]);
  const secrets = hiddenTexts(...words);
  if (secrets.length === 0) return result;
  const hide = (text: string | null) => (text === null ? null : hiddenIn(text, secrets));
  const { responseExcerpt, answer } = result;
  const shown = answer && {
    contentType: hide(answer.contentType),
    locationHost: hide(answer.locationHost),
    retryAfter: hide(answer.retryAfter),
  };
  return { ...result, responseExcerpt: hide(responseExcerpt), answer: shown };
}

/** Hides the secrets in a text, and the beginning of a secret that the end of the text has cut off. */
function hiddenIn(text: string, secrets: readonly string[]): string {
  const shown = hideSecrets(text, secrets);
  const cuts = secrets.map((secret) => startAtEnd(shown, secret));
  return shown.slice(0, shown.length - Math.max(...cuts));
}

/** Returns how many characters at the end of a text are the beginning of a secret. */
function startAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_START_CHARS; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
