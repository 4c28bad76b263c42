import type { PastEndpoint } from "../core/record/endpoint-copy.ts";
import type { Account } from "../core/record/task.ts";
import type { HmacSecret } from "./hmac.ts";
import { accountSecrets, endpointSecrets, type Keyring, type Secrets } from "./keyring.ts";

/** Name of a secret or key that signs callbacks. The name does not reveal the secret. */
export interface SignerName {
  readonly scheme: "v1" | "v1a";
  /**
   * Age of the secret: `current`, `next` (the secret after the next rotation) or `previous`. Among Ed25519 keys, and
   * among the relay's own secrets, the first is `current` and all others are `previous`.
   */
  readonly age: "current" | "next" | "previous";
  /**
   * Generation of the secret of an account or an endpoint, a number that each rotation raises by 1. Absent for a secret
   * of the relay itself.
   */
  readonly generation?: number;
  /**
   * Position, in the list of relay secrets, of the relay secret from which this secret is derived. Absent for the
   * newest one, at position 1.
   */
  readonly relay_secret?: number;
  /** Name of the endpoint whose secret it is. Absent for a secret of an account or of the relay itself. */
  readonly endpoint?: string;
  /** Key id of an Ed25519 key, as in `/.well-known/jwks.json`. */
  readonly kid?: string;
}

/** A secret or key that signs callbacks, together with its name. */
export interface Signer {
  readonly name: SignerName;
  /** Key that verifies the signatures of this signer. */
  readonly key: CryptoKey;
}

/** Account and endpoint of a task, which decide with which secrets its callbacks are signed. */
export interface SignedFor {
  readonly account: Account | null;
  /** Endpoint that gets the callbacks. Absent when it is a URL alone. */
  readonly endpoint?: PastEndpoint;
}

/** Owner of secrets that sign callbacks: an endpoint, an account, or the relay itself. */
export interface SecretsOwner {
  /** Id of the account that owns the secrets, or the endpoint with them. Null for the relay. */
  readonly account: string | null;
  /** Name of the endpoint with secrets of its own. Null when those of the account or the relay sign. */
  readonly endpoint: string | null;
}

/** Returns the owner of the secrets that sign the callbacks of a task. */
export function secretsOwner({ account, endpoint }: SignedFor): SecretsOwner {
  return {
    account: account?.id ?? null,
    endpoint: endpoint?.secret === undefined ? null : endpoint.name,
  };
}

/** Returns the owner of secrets as words, e.g. `the endpoint orders of the account acme`. */
export function ownerName({ account, endpoint }: SecretsOwner): string {
  if (endpoint === null) return account === null ? "the relay itself" : `the account ${account}`;
  return `the endpoint ${endpoint} of ${account === null ? "the relay" : `the account ${account}`}`;
}

/**
 * Returns the secrets and keys that sign the callbacks of a task, each with its name, in the order of their signatures
 * in the header.
 * @param present present generation of the secret of the endpoint or the account, which may be higher than the one that
 * is stored with the task. Null when it is not known, and when the relay's own secrets sign.
 */
export async function signersOf(
  message: SignedFor,
  present: number | null,
  config: Secrets,
  keyring: Pick<Keyring, "callbackSecrets" | "signingKeys">,
): Promise<readonly Signer[]> {
  const ofSecrets = await secretSigners(message, present, config, keyring);
  const ofKeys = keyring.signingKeys.map(async ({ x }, at) => {
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
    return { name: { scheme: "v1a", age: ageAt(at), kid: x } as const, key };
  });
  return [...ofSecrets, ...(await Promise.all(ofKeys))];
}

async function secretSigners(
  { account, endpoint }: SignedFor,
  present: number | null,
  config: Secrets,
  { callbackSecrets }: Pick<Keyring, "callbackSecrets">,
): Promise<readonly Signer[]> {
  if (endpoint?.secret !== undefined) {
    const { name: of, secret } = endpoint;
    const signers = rotatedSigners(await endpointSecrets(config, secret), secret, present, config);
    return signers.map(({ name, key }) => ({ name: { ...name, endpoint: of }, key }));
  }
  if (account === null) return callbackSecrets.map(({ key }, at) => ({ name: relayName(at), key }));
  return rotatedSigners(await accountSecrets(config, account), account, present, config);
}

function relayName(at: number): SignerName {
  return { scheme: "v1", age: ageAt(at) };
}

function ageAt(place: number): SignerName["age"] {
  return place === 0 ? "current" : "previous";
}

/**
 * Returns the names of secrets that are rotated.
 * @param secrets those of the stored generation, of the next and of the previous one, each for all relay secrets.
 */
function rotatedSigners(
  secrets: readonly HmacSecret[],
  { generation: stored }: { readonly generation: number },
  present: number | null,
  { relaySecrets: { length } }: Secrets,
): readonly Signer[] {
  const current = present ?? stored;
  return secrets.map(({ key }, at) => {
    const generation = stored + ([0, 1, -1][Math.floor(at / length)] ?? 0);
    const age = generation === current ? "current" : generation > current ? "next" : "previous";
    const place = (at % length) + 1;
    const name = { scheme: "v1", age, generation } as const;
    return { name: place === 1 ? name : { ...name, relay_secret: place }, key };
  });
}
