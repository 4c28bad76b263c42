import * as z from "zod/mini";
import { ledgerObject } from "../../objects/object-names.ts";
import type { Runtime } from "../../config/runtime.ts";
import { refundableMs } from "../../core/policy.ts";
import { MINUTE_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { log } from "../../lib/log.ts";
import pMap from "p-map";
import { keyNameOf } from "../../objects/task/caller.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
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
 * Age in milliseconds up to which the ledger is searched for charged tasks that may still be open. Older open tasks are
 * found in the index. A task gets its row in the index at most 300 seconds (`INDEX_DELAY_S`) after its creation, or
 * later if writing the row fails.
 */
const RECENT_MS = 10 * MINUTE_MS;
/**
 * Largest number of task objects that are asked whether their task is open. On the Free plan a request to a Worker
 * may make 50 calls to objects, and deleting an account needs about 25 of them for other steps.
 */
const MAX_ASKED = 20;
const CONCURRENCY = 6;

/**
 * Query of `DELETE /v1/accounts/{account}`. With `force` the account is deleted even when it has tasks without a
 * result.
 */
const Deletion = z.strictObject({ force: Flag });

/**
 * Deletes an account. A request that failed half-way can be completed by sending it again, because each of its steps
 * may be repeated. The ledger keeps every charge as a separate entry while a task of the account may still fail, so
 * that such a task can be refunded.
 */
const deleteAccount = operation(
  "deleteAccount",
  { access: "administer", params: ["account"], query: Deletion, body: NoBody },
  async ({ env, query: { force }, runtime, caller, params: { account: id } }) => {
    const { deletedAt } = await callProfile(env, id, (object) => object.profile());
    if (deletedAt === null && !force) await requireNoOpenTask(env, runtime, id);
    const foldAt = Date.now() + refundableMs(runtime.config.retentionMs);
    await callObject(() => ledgerObject(env, id).deleteLedger(foldAt));
    const hashes = await callProfile(env, id, (object) => object.deleteProfile());
    forgetAccount(id);
    await removeKeys(env, id, hashes);
    const shards = shardsOf(env, runtime.config);
    if (shards !== null) await queryIndex(() => forgetListedAccount(shards.first, id));
    log({ event: "account.delete", account: id, by: keyNameOf(caller) });
  },
);

export const deleteAccountRoute = routeOf(
  { method: "DELETE", path: "/v1/accounts/{account}" },
  deleteAccount,
  () => new Response(null, { status: 202 }),
);

/**
 * Checks that the account has no open task, i.e. none without a result. Open tasks are looked up in the index, which
 * has them some time after their creation, and in the ledger, which has charged tasks at once.
 * @throws Problem `task_open` when an open task is found, or when more tasks than `MAX_ASKED` were charged in the last
 * minutes; `index_disabled` when there is no index, because nothing else has all tasks of an account.
 */
async function requireNoOpenTask(env: Env, runtime: Runtime, accountId: string): Promise<void> {
  const shards = requireIndex(env, runtime);
  const taskId =
    (await queryIndex(() => findOpenTask(shards, accountId))) ??
    (await findOpenCharged(env, accountId));
  if (taskId !== null) throw taskOpen(`The account has open tasks, such as ${taskId}.`);
}

/**
 * Returns the id of an open task (one without a result) that the ledger has charged in the last minutes.
 * @returns null when there is no such task.
 * @throws Problem `task_open` when more tasks than `MAX_ASKED` were charged in the last minutes.
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
