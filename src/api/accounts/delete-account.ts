import * as z from "zod/mini";
import { ledgerObject } from "../../account/object-names.ts";
import type { Runtime } from "../../config/runtime.ts";
import { refundableMs } from "../../core/policy.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { keyNameOf } from "../../task-object/caller.ts";
import { forgetListedAccount } from "../../index-db/accounts.ts";
import { findOpenTask } from "../../index-db/open-tasks.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { queryIndex, requireIndex } from "../search/query-index.ts";
import { callProfile, forgetAccount } from "./account-client.ts";
import { removeKeys } from "./key-storage.ts";

/**
 * Query of `DELETE /v1/accounts/{account}`. With `force` the account is deleted in spite of tasks without a
 * result.
 */
const Deletion = z.strictObject({ force: Flag });

/**
 * Deletes an account. A request that failed half-way is completed by sending it again, because each of its
 * steps may be repeated. Charges of the account are still refunded for as long as one of its tasks may fail.
 */
export const deleteAccount = queryRoute(
  {
    id: "deleteAccount",
    method: "DELETE",
    path: "/v1/accounts/{account}",
    access: "administer",
  },
  Deletion,
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
    return new Response(null, { status: 202 });
  },
);

/**
 * Checks that the index has no task of the account without a result.
 * @throws Problem `task_open` when it has one; `index_disabled` without an index, because nothing else lists
 * the tasks of an account.
 */
async function requireNoOpenTask(env: Env, runtime: Runtime, accountId: string): Promise<void> {
  const shards = requireIndex(env, runtime);
  const taskId = await queryIndex(() => findOpenTask(shards, accountId));
  if (taskId === null) return;
  const detail = `The account has open tasks, such as ${taskId}. ?force=true deletes it all the same.`;
  throw new Problem("task_open", { detail });
}
