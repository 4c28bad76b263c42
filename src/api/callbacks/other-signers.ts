import type { Runtime } from "../../config/runtime.ts";
import type { Account } from "../../core/record/task.ts";
import type { Env } from "../../env.ts";
import { listAccountIds } from "../../index-db/account-list.ts";
import { shardsOf } from "../../index-db/shards.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import type { OtherSigner, Sent } from "../../security/doctor/examine.ts";
import type { HmacSecret } from "../../security/hmac.ts";
import { accountSecrets } from "../../security/keyring.ts";
import { findAccount } from "../accounts/account-client.ts";
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
 * of the relay itself, those of the task's account that rotations have replaced and, for an operator on a relay with an
 * index, those of other accounts. They are derived only when a signature is of none of the expected secrets.
 * @param account account of the task; null for a task without an account.
 */
export function otherSigners(account: Account | null, asking: Asking): Sent["others"] {
  const { callbackSecrets, eventsSecrets } = asking.runtime.keyring;
  const ofRelay = account === null ? [] : named(callbackSecrets, "a secret of the relay itself");
  const ofEvents = named(eventsSecrets, "the secret for events of upstreams");
  return [
    async () => await Promise.resolve([...ofRelay, ...ofEvents]),
    async () => (account === null ? [] : await replacedSigners(account, asking)),
    async () => (accountOf(asking.caller) === null ? await signersOfOthers(account, asking) : []),
  ];
}

/** Returns the secrets of an account that do not sign the callbacks of its task any more, or not yet. */
async function replacedSigners(
  account: Account,
  { runtime: { config }, env }: Asking,
): Promise<readonly OtherSigner[]> {
  const present = (await findAccount(env, account.id))?.generation ?? account.generation;
  const all = Array.from({ length: MAX_REPLACED + 1 }, (_, back) => present - back);
  const generations = all.filter(
    (generation) => generation > 0 && Math.abs(generation - account.generation) > 1,
  );
  const found = generations.map(async (generation) => {
    const secrets = await accountSecrets(config, account, [generation]);
    const since = generation < present ? ", which a rotation has replaced" : "";
    return named(secrets, `secret no. ${generation} of the account ${account.id}${since}`);
  });
  return (await Promise.all(found)).flat();
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
