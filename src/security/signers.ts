import type { Account } from "../core/record/task.ts";
import { accountSecrets, type Keyring, type Secrets } from "./keyring.ts";

/** Name of a secret or key that signs callbacks, without the secret. */
export interface SignerName {
  readonly scheme: "v1" | "v1a";
  /**
   * Age of the secret: `current`, `next` (used after the next rotation) or `previous`. Of Ed25519 keys and of
   * the relay's own secrets, the first one configured is `current` and all others are `previous`.
   */
  readonly age: "current" | "next" | "previous";
  /**
   * Number of an account's secret, which grows by 1 with each rotation; absent for a secret of the relay
   * itself.
   */
  readonly generation?: number;
  /**
   * Position, in the list of the relay secrets, of the one from which the secret is derived. The newest has
   * position 1, for which the field is absent.
   */
  readonly relay_secret?: number;
  /** Key id of an Ed25519 key, as in `/.well-known/jwks.json`. */
  readonly kid?: string;
}

/** A secret or key that signs callbacks, with its name. */
export interface Signer {
  readonly name: SignerName;
  /** Key that verifies the signatures of this signer. */
  readonly key: CryptoKey;
}

/**
 * Returns the secrets and keys that sign the callbacks of a task, with their names, in the order of their
 * signatures in the header.
 * @param present generation of the account's secret now, which may have been rotated after the task was made.
 */
export async function signersOf(
  account: Account | null,
  present: number | null,
  config: Secrets,
  keyring: Pick<Keyring, "callbackSecrets" | "signingKeys">,
): Promise<readonly Signer[]> {
  const ofSecrets =
    account === null
      ? keyring.callbackSecrets.map(({ key }, at) => ({ name: relayName(at), key }))
      : await accountSigners(account, present ?? account.generation, config);
  const ofKeys = keyring.signingKeys.map(async ({ x }, at) => {
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
    return { name: { scheme: "v1a", age: ageAt(at), kid: x } as const, key };
  });
  return [...ofSecrets, ...(await Promise.all(ofKeys))];
}

function relayName(at: number): SignerName {
  return { scheme: "v1", age: ageAt(at) };
}

function ageAt(place: number): SignerName["age"] {
  return place === 0 ? "current" : "previous";
}

async function accountSigners(
  account: Account,
  present: number,
  config: Secrets,
): Promise<readonly Signer[]> {
  const secrets = await accountSecrets(config, account);
  const { length } = config.relaySecrets;
  return secrets.map(({ key }, at) => {
    const generation = account.generation + ([0, 1, -1][Math.floor(at / length)] ?? 0);
    const age = generation === present ? "current" : generation > present ? "next" : "previous";
    const place = (at % length) + 1;
    const name = { scheme: "v1", age, generation } as const;
    return { name: place === 1 ? name : { ...name, relay_secret: place }, key };
  });
}
