import * as z from "zod/mini";
import { type UnsettledTask, unsettledTasks } from "../../index-db/open-tasks.ts";
import { log } from "../../lib/log.ts";
import { callTasks } from "../../objects/task/call-tasks.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { taskObject } from "../../objects/task/task-stub.ts";
import type { Env } from "../../env.ts";
import { json } from "../http/answer.ts";
import { listOf, optional, TaskId } from "../http/fields.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { queryIndex, requireIndex } from "./query-index.ts";

const MAX_IDS = 500;
/**
 * Position at which `POST /v1/wake` begins when it gets no cursor: before all unsettled tasks (without a result, or
 * with a callback or refund still under way).
 */
const START: UnsettledTask = {
  dueAt: 0,
  createdAt: 0,
  id: "00000000-0000-0000-0000-000000000000",
};

/**
 * Schema of the cursor of `POST /v1/wake`. The route goes through the unsettled tasks in the order of the times at
 * which they should change. The cursor contains this time, the creation time and the id of the last task of the
 * previous page.
 */
const Cursor = z.pipe(
  z.string().check(z.regex(/^\d{1,16}_\d{1,16}_[0-9a-f-]{36}$/, "is not a cursor of this route")),
  z.transform((cursor): UnsettledTask => {
    const [dueAt = "", createdAt = "", id = ""] = cursor.split("_");
    return { dueAt: Number(dueAt), createdAt: Number(createdAt), id };
  }),
);

const WakeOrder = z
  .strictObject({
    ids: optional(listOf(TaskId, MAX_IDS)),
    all: optional(z.literal(true, "must be true")),
    cursor: optional(Cursor),
  })
  .check(
    z.refine(({ ids, all }) => (ids === null) !== (all === null), {
      path: ["ids"],
      message: "or all is required, and not both",
    }),
    z.refine(({ ids, cursor }) => ids === null || cursor === null, {
      path: ["cursor"],
      message: "is only allowed with all",
    }),
  );

/**
 * Wakes the given tasks, or one page of all unsettled tasks (without a result, or with a callback or refund still under
 * way). Each woken task sets its alarm again and starts the work that is due.
 */
const wakeTasks = operation(
  "wakeTasks",
  { access: "operate", query: NoQuery, body: WakeOrder },
  async ({ env, runtime, caller, body: { ids, cursor } }) => {
    if (ids !== null) {
      const { woken, unknown, failed, unasked } = countsOf(
        await wake(
          env,
          ids.map((id) => ({ id })),
        ),
      );
      const counts = { woken, unknown, failed: failed + unasked };
      log({ event: "tasks.wake", ...counts, by: keyNameOf(caller) });
      return { ...counts, next_cursor: null };
    }
    const shards = requireIndex(env, runtime);
    const after = cursor ?? START;
    const page = await queryIndex(() => unsettledTasks(shards, after, MAX_IDS));
    const outcomes = await wake(env, page);
    const { woken, unknown, failed } = countsOf(outcomes);
    log({ event: "tasks.wake", woken, unknown, failed, by: keyNameOf(caller) });
    const next = endOf(page, outcomes, after);
    return { woken, unknown, failed, next_cursor: next === null ? null : cursorOf(next) };
  },
);

export const wakeTasksRoute = routeOf({ method: "POST", path: "/v1/wake" }, wakeTasks, (counts) =>
  json(counts),
);

type Outcomes = Awaited<ReturnType<typeof wake>>;

/**
 * Wakes tasks: each task's object sets the task's alarm again, in case it was lost, and starts the work that is due. A
 * task whose object cannot be reached has the outcome `failed`, and the other tasks are woken all the same.
 */
function wake(env: Env, tasks: readonly { readonly id: string }[]) {
  return callTasks(tasks, async ({ id }) =>
    (await taskObject(env, id).wake()) ? "woken" : "unknown",
  );
}

/**
 * Returns the number of tasks with each outcome: woken, unknown (there is no such task), failed (the task's object
 * could not be reached), unasked (the task's object was not called).
 */
function countsOf(outcomes: Outcomes) {
  const count = (outcome: Outcomes[number]) => outcomes.filter((one) => one === outcome).length;
  return {
    woken: count("woken"),
    unknown: count("unknown"),
    failed: count("failed"),
    unasked: count("unasked"),
  };
}

/**
 * Returns the position at which the next page of tasks to wake begins: after the last task of this page or, if the
 * objects of some of its tasks were not called, after the last task whose object was called.
 * @param after position at which this page began.
 * @returns null when this page was the last one.
 */
function endOf(
  page: readonly UnsettledTask[],
  outcomes: Outcomes,
  after: UnsettledTask,
): UnsettledTask | null {
  const unasked = outcomes.indexOf("unasked");
  if (unasked >= 0) return page[unasked - 1] ?? after;
  return page.length === MAX_IDS ? (page.at(-1) ?? null) : null;
}

function cursorOf({ dueAt, createdAt, id }: UnsettledTask): string {
  return `${dueAt}_${createdAt}_${id}`;
}
