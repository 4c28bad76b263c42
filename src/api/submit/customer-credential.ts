import { parseJson } from "../../core/json.ts";
import { failure, type Result, success } from "../../core/result.ts";
import { fromBase64 } from "../../security/encoding.ts";
import { at } from "../../providers/json-fields.ts";
import type { KeyHeader, UpstreamProvider } from "../../providers/provider.ts";
import { PROVIDERS } from "../../providers/registry.ts";

/** Largest length of a key, in characters. The longest keys of known upstreams, JSON Web Tokens, have about 1,000. */
export const MAX_KEY_CHARS = 4_096;
/** Header of the providers that accept their API key as a bearer token (RFC 6750). */
const BEARER: KeyHeader = { name: "Authorization", schemes: ["Bearer"] };
/** Headers in which the SDKs of upstreams send their API key. Each header is listed once. */
export const KEY_HEADERS: readonly string[] = [
  ...new Set([...PROVIDERS.values()].map((provider) => keyHeaderOf(provider).name)),
  "x-api-key",
];
/** Headers in which SDKs or upstreams accept an API key: those of `KEY_HEADERS`, and further ones. */
export const CREDENTIAL_HEADERS: readonly string[] = [...KEY_HEADERS, "api-key", "mj-api-secret"];

/** The customer's own key in a call to an upstream, with the header in which the customer has sent it. */
export interface CustomerCredential {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reason why a call has no usable key of the customer. */
export interface CredentialFault {
  /** Name of the header that is at fault. */
  readonly header: string;
  readonly message: string;
}

/**
 * Returns the customer's own key from the headers of a call to an upstream. Fails when the header that the upstream's
 * adapter names has no key, when the call has a second header for keys, and when the key can expire, because the relay
 * needs the key later to poll the job.
 */
export function readCustomerKey(
  headers: Headers,
  adapter: UpstreamProvider,
): Result<CustomerCredential, CredentialFault> {
  const { name: provider } = adapter;
  const { name, schemes } = keyHeaderOf(adapter);
  const own = name.toLowerCase();
  const other = CREDENTIAL_HEADERS.find((each) => each.toLowerCase() !== own && headers.has(each));
  if (other !== undefined) {
    const message = `must be left out: ${provider} takes its key in ${name}`;
    return failure({ header: other, message });
  }
  const value = headers.get(name);
  const form = schemes.length === 0 ? "the key" : `${schemes.join(" or ")} and the key`;
  if (value === null) {
    const message = `is required, with your own key of ${provider}: ${form}`;
    return failure({ header: name, message });
  }
  if (value.length > MAX_KEY_CHARS) {
    const message = `must have a key of at most ${MAX_KEY_CHARS} characters`;
    return failure({ header: name, message });
  }
  const key = keyIn(value, schemes);
  if (key === null) return failure({ header: name, message: `must be ${form}` });
  if (isExpiring(key)) {
    const message = `must have a key that does not expire: the relay asks ${provider} for the job with it later, and this JSON Web Token has an end (exp)`;
    return failure({ header: name, message });
  }
  return success({ key, headers: { [name]: value } });
}

/** Returns the header in which an upstream takes its API key. */
export function keyHeaderOf({ polls: { keyHeader = BEARER } }: UpstreamProvider): KeyHeader {
  return keyHeader;
}

/**
 * Returns the key in the value of a header.
 * @param schemes words of which one must precede the key, e.g. `Bearer`; empty when the key stands alone.
 * @returns null when the value has another form.
 */
function keyIn(value: string, schemes: readonly string[]): string | null {
  const words = value.trim().split(/ +/);
  const key = words.at(-1) ?? "";
  const [scheme] = words;
  const isKnown =
    schemes.length === 0
      ? words.length === 1
      : words.length === 2 && schemes.some((each) => each.toLowerCase() === scheme?.toLowerCase());
  return isKnown && /^[\x21-\x7e]+$/.test(key) ? key : null;
}

/** Tells whether a key is a JSON Web Token with an expiry time (`exp`, RFC 7519 §4.1.4), even one in the past. */
function isExpiring(key: string): boolean {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(key) ?? [];
  if (claims === undefined) return false;
  try {
    const text = new TextDecoder().decode(fromBase64(claims));
    return at(parseJson(text), "exp") != null;
  } catch {
    return false;
  }
}
