import type { Account } from "../core/record/task.ts";
import { accountSecrets, type Keyring, type Secrets } from "./keyring.ts";

/** Name of a secret or key that signs callbacks. The name does not reveal the secret. */
export interface SignerName {
  readonly scheme: "v1" | "v1a";
  /**
   * Age of the secret: `current`, `next` (the secret after the next rotation) or `previous`. Among Ed25519 keys, and
   * among the relay's own secrets, the first is `current` and all others are `previous`.
   */
  readonly age: "current" | "next" | "previous";
  /**
   * Generation of an account's secret, a number that each rotation raises by 1. Absent for a secret of the relay
   * itself.
   */
  readonly generation?: number;
  /**
   * Position, in the list of relay secrets, of the relay secret from which this secret is derived. Absent for the
   * newest one, at position 1.
   */
  readonly relay_secret?: number;
  /** Key id of an Ed25519 key, as in `/.well-known/jwks.json`. */
  readonly kid?: string;
}

/** A secret or key that signs callbacks, together with its name. */
export interface Signer {
  readonly name: SignerName;
  /** Key that verifies the signatures of this signer. */
  readonly key: CryptoKey;
}

/**
 * Returns the secrets and keys that sign the callbacks of a task, each with its name, in the order of their signatures
 * in the header.
 * @param present present generation of the account's secret, which may be higher than the one that is stored with the
 * task. Null when it is not known, and when the task has no account.
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
