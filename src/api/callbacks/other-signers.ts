import type { Runtime } from "../../config/runtime.ts";
import type { Account } from "../../core/record/task.ts";
import type { Env } from "../../env.ts";
import { listAccountIds } from "../../index-db/account-list.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import type { OtherSigner, Sent } from "../../security/doctor/examine.ts";
import type { HmacSecret } from "../../security/hmac.ts";
import { accountSecrets, endpointSecrets } from "../../security/keyring.ts";
import {
  ownerName,
  secretsOwner,
  type SecretsOwner,
  type SignedFor,
} from "../../security/signers.ts";
import { findAccount } from "../accounts/account-client.ts";
import { endpointsObject } from "../endpoints/endpoint-client.ts";
import { callObject } from "../http/object-call.ts";
import { queryIndex } from "../search/query-index.ts";

/** Number of replaced secrets of an account that are tried, the latest ones. */
const MAX_REPLACED = 8;
/** Largest number of other accounts whose secrets are tried. */
const MAX_ACCOUNTS = 100;
/**
 * Generations of the secrets of other accounts that are tried. A callback has signatures of three generations, so these
 * find the account unless its secret was rotated more than four times.
 */
const TRIED_GENERATIONS = [1, 2, 3, 4];

interface Asking {
  readonly caller: Caller;
  readonly runtime: Runtime;
  readonly env: Env;
}

/**
 * Returns whose secrets may have signed a received callback in place of those that sign the callbacks of its task: those
 * of the relay itself, those of the account and of its endpoints (without an account, of the endpoints of the relay),
 * also those that rotations have replaced, and, for an operator on a relay with an index, those of other accounts. They
 * are derived only when a signature is of none of the expected secrets.
 * @param signed what decides which secrets sign the callbacks of the task.
 */
export function otherSigners(signed: SignedFor, asking: Asking): Sent["others"] {
  const { account } = signed;
  const { callbackSecrets, eventsSecrets } = asking.runtime.keyring;
  const { account: owner, endpoint } = secretsOwner(signed);
  const isByRelay = owner === null && endpoint === null;
  const ofRelay = isByRelay ? [] : named(callbackSecrets, "a secret of the relay itself");
  const ofEvents = named(eventsSecrets, "the secret for events of upstreams");
  return [
    async () => await Promise.resolve([...ofRelay, ...ofEvents]),
    async () => (account === null ? [] : await signersOfAccount(account, endpoint, asking)),
    async () => await signersOfEndpoints(signed, asking),
    async () => (accountOf(asking.caller) === null ? await signersOfOthers(account, asking) : []),
  ];
}

/**
 * Returns the secrets of an account that do not sign the callbacks of its task: those of other generations or, if an
 * endpoint has secrets of its own, all.
 * @param endpoint name of that endpoint; null when there is none.
 */
async function signersOfAccount(
  account: Account,
  endpoint: string | null,
  { runtime: { config }, env }: Asking,
): Promise<readonly OtherSigner[]> {
  const present = (await findAccount(env, account.id))?.generation ?? account.generation;
  const found = generationsUpTo(endpoint === null ? present : present + 1)
    .filter((generation) => endpoint !== null || !isExpected(generation, account))
    .map(async (generation) => {
      const secrets = await accountSecrets(config, account, [generation]);
      return named(secrets, nameOf(generation, present, { account: account.id, endpoint: null }));
    });
  return (await Promise.all(found)).flat();
}

/** Returns the secrets of the endpoints of an owner that do not sign the callbacks of a task. */
async function signersOfEndpoints(
  signed: SignedFor,
  { runtime: { config }, env }: Asking,
): Promise<readonly OtherSigner[]> {
  const owner = signed.account?.id ?? null;
  const own = signed.endpoint?.secret;
  // An account that was deleted has no endpoints any more.
  const stored = (await callObject(() => endpointsObject(env, owner).endpoints())) ?? [];
  const found = stored.flatMap(({ name, secret }) => {
    if (secret === null) return [];
    const present = secret.generation;
    return generationsUpTo(present + 1)
      .filter((generation) => secret.id !== own?.id || !isExpected(generation, own))
      .map(async (generation) => {
        const secrets = await endpointSecrets(config, secret, [generation]);
        return named(secrets, nameOf(generation, present, { account: owner, endpoint: name }));
      });
  });
  return (await Promise.all(found)).flat();
}

/** Returns the generations of a secret up to the newest one that are tried. */
function generationsUpTo(newest: number): readonly number[] {
  const all = Array.from({ length: MAX_REPLACED + 1 }, (_, back) => newest - back);
  return all.filter((generation) => generation > 0);
}

/** Tells whether the secret of a generation signs: those of the stored generation, the previous and the next one do. */
function isExpected(generation: number, stored: { readonly generation: number }): boolean {
  return Math.abs(generation - stored.generation) <= 1;
}

function nameOf(generation: number, present: number, owner: SecretsOwner): string {
  const since = generation < present ? ", which a rotation has replaced" : "";
  return `secret no. ${generation} of ${ownerName(owner)}${since}`;
}

async function signersOfOthers(
  own: Account | null,
  { runtime: { config }, env }: Asking,
): Promise<readonly OtherSigner[]> {
  const shards = shardsOf(env, config);
  if (shards === null) return [];
  // Without the list of accounts the other causes are still found.
  const listed = await queryIndex(() => listAccountIds(shards.first, "", MAX_ACCOUNTS)).catch(
    () => [],
  );
  const found = listed.flatMap(({ id }) => {
    if (id === own?.id) return [];
    return TRIED_GENERATIONS.map(async (generation) => {
      const secrets = await accountSecrets(config, { id, generation }, [generation]);
      return named(secrets, `secret no. ${generation} of the account ${id}`);
    });
  });
  return (await Promise.all(found)).flat();
}

function named(secrets: readonly HmacSecret[], what: string): readonly OtherSigner[] {
  return secrets.map(({ key }) => {
    return { what, signer: { name: { scheme: "v1", age: "current" }, key } };
  });
}
