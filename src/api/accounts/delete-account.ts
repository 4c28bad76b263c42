import * as z from "zod/mini";
import { ledgerObject } from "../../objects/object-names.ts";
import type { Runtime } from "../../config/runtime.ts";
import { refundableMs } from "../../core/policy.ts";
import { MINUTE_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import pMap from "p-map";
import { keyNameOf } from "../../objects/task/caller.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import { forgetListedAccount } from "../../index-db/account-list.ts";
import { findOpenTask } from "../../index-db/open-tasks.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { queryIndex, requireIndex } from "../search/query-index.ts";
import { callLedger, callProfile, forgetAccount } from "./account-client.ts";
import { removeKeys } from "./key-storage.ts";

/**
 * Age in milliseconds up to which charged tasks are looked for in the ledger. The index gets the row of an
 * open task 30 seconds after its creation; changes in this time and failed writes postpone it.
 */
const RECENT_MS = 10 * MINUTE_MS;
/**
 * Largest number of tasks that are asked whether they are open. A request to a Worker may make 50 calls to
 * objects on the Free plan, of which the deletion itself needs about 25.
 */
const MAX_ASKED = 20;
const CONCURRENCY = 6;

/**
 * Query of `DELETE /v1/accounts/{account}`. With `force` the account is deleted in spite of tasks without a
 * result.
 */
const Deletion = z.strictObject({ force: Flag });

/**
 * Deletes an account. A request that failed half-way is completed by sending it again, because each of its
 * steps may be repeated. Charges of the account are still refunded for as long as one of its tasks may fail.
 */
const deleteAccount = operation(
  { access: "administer", params: ["account"], query: Deletion, body: NoBody },
  async ({ env, query: { force }, runtime, caller, params: { account: id } }) => {
    const { deletedAt } = await callProfile(env, id, (object) => object.profile());
    if (deletedAt === null && !force) await requireNoOpenTask(env, runtime, id);
    const foldAt = Date.now() + refundableMs(runtime.config.retentionMs);
    await callObject(() => ledgerObject(env, id).deleteLedger(foldAt));
    const hashes = await callProfile(env, id, (object) => object.deleteProfile());
    forgetAccount(id);
    await removeKeys(env, id, hashes);
    const { INDEX_DB: db } = env;
    if (db !== undefined) await queryIndex(() => forgetListedAccount(db, id));
    log({ event: "account.delete", account: id, by: keyNameOf(caller) });
  },
);

export const deleteAccountRoute = routeOf(
  { id: "deleteAccount", method: "DELETE", path: "/v1/accounts/{account}" },
  deleteAccount,
  () => new Response(null, { status: 202 }),
);

/**
 * Checks that no task without a result is known for the account: to the index, which lists an open task from
 * some time after its creation, or to the ledger, which knows the charged ones at once.
 * @throws Problem `task_open` when there is one, or when too many were charged lately to ask each;
 * `index_disabled` without an index, because nothing else lists all tasks of an account.
 */
async function requireNoOpenTask(env: Env, runtime: Runtime, accountId: string): Promise<void> {
  const shards = requireIndex(env, runtime);
  const taskId =
    (await queryIndex(() => findOpenTask(shards, accountId))) ??
    (await findOpenCharged(env, accountId));
  if (taskId !== null) throw taskOpen(`The account has open tasks, such as ${taskId}.`);
}

/**
 * Returns the id of a task without a result whose price the ledger has lately charged; null when there is
 * none.
 * @throws Problem `task_open` when there are too many charges to ask the object of each task.
 */
async function findOpenCharged(env: Env, accountId: string): Promise<string | null> {
  const since = Date.now() - RECENT_MS;
  const ids = await callLedger(env, accountId, (object) =>
    object.recentlyCharged(since, MAX_ASKED + 1),
  );
  if (ids.length > MAX_ASKED) {
    const minutes = RECENT_MS / MINUTE_MS;
    throw taskOpen(
      `More than ${MAX_ASKED} tasks were charged in the last ${minutes} minutes, some may be open.`,
    );
  }
  const areOpen = await pMap(ids, (id) => callObject(() => taskObject(env, id).isOpen()), {
    concurrency: CONCURRENCY,
  });
  return ids.find((_, index) => areOpen[index]) ?? null;
}

function taskOpen(reason: string): Problem {
  return new Problem("task_open", { detail: `${reason} ?force=true deletes it all the same.` });
}
