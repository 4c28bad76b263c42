import type * as z from "zod/mini";
import { toSeconds } from "../../core/time.ts";
import type { Reader } from "../../core/views/reader.ts";
import type { ListedTask } from "../../index-db/list.ts";
import { countShards, listShards } from "../../index-db/list-shards.ts";
import { readerOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { NO_ORIGIN } from "../http/link-origin.ts";
import { routeOf } from "../http/route.ts";
import { type Call, NoBody, operation } from "../operation.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import { filtersOf, TaskPage } from "./filters.ts";

const LIST = {
  access: "read",
  rateLimit: "LIMIT_LISTS",
  query: TaskPage,
  body: NoBody,
} as const;

/** Reads one page of a list of tasks, newest first. It throws the problems of `pageOf`. */
export const listTasks = operation("listTasks", LIST, async ({ query, ...call }) => {
  const { tasks, next_cursor } = await pageOf(query, call);
  return { data: tasks.map((task) => summaryOf(task, readerOf(call.caller))), next_cursor };
});

/**
 * Reads one page of a list of tasks from the index, newest first, with the cursor of the next page (null on the last
 * page).
 * @throws Problem `invalid_request` for filters that the caller may not use, and for a cursor of another list.
 */
export async function pageOf(
  query: Omit<z.output<typeof TaskPage>, "count">,
  { env, runtime, caller }: Pick<Call<never, unknown, unknown>, "env" | "runtime" | "caller">,
) {
  const shards = requireIndex(env, runtime);
  const filters = filtersOf(query, caller);
  const { cursorKeys } = runtime.keyring;
  const after = await positionOf(query.cursor, filters, cursorKeys);
  const { tasks, next } = await queryIndex(() =>
    listShards(shards, filters, after, query.limit, Date.now()),
  );
  return { tasks, next_cursor: next === null ? null : await cursorOf(next, filters, cursorKeys) };
}

/**
 * Counts the tasks of a list or, with a cursor, those that follow it. `is_capped` is true when there may be more,
 * because only a limited number of rows is read.
 */
const countTasks = operation("countTasks", LIST, async ({ query, env, runtime, caller }) => {
  const shards = requireIndex(env, runtime);
  const filters = filtersOf(query, caller);
  const after = await positionOf(query.cursor, filters, runtime.keyring.cursorKeys);
  const { count, isCapped } = await queryIndex(() => countShards(shards, filters, after));
  return { count, is_capped: isCapped };
});

const WIRE = { method: "GET", path: "/v1/tasks" } as const;
const countRoute = routeOf(WIRE, countTasks, (count) => json(count));
const pageRoute = routeOf(WIRE, listTasks, (page, { url }) =>
  json(page, 200, {
    "Cache-Control": "private, no-store",
    ...(page.next_cursor !== null &&
      url.origin !== NO_ORIGIN && { Link: linkTo(url, page.next_cursor) }),
  }),
);

export const listTasksRoute: typeof pageRoute = {
  ...pageRoute,
  handle: async (call) => {
    const isCount = call.url.searchParams.get("count") === "true";
    return await (isCount ? countRoute : pageRoute).handle(call);
  },
};

function linkTo(url: URL, cursor: string): string {
  const next = new URL(url);
  next.searchParams.set("cursor", cursor);
  return `<${next.href}>; rel="next"`;
}

/** A task in a list, with the fields that the caller may see. */
export type TaskSummary = ReturnType<typeof summaryOf>;

function summaryOf(task: ListedTask, reader: Reader) {
  const { id, status, category, submission, model, account, provider, job } = task;
  return {
    id,
    status,
    model,
    created_at: toSeconds(task.createdAt),
    ...(task.completedAt !== null && { completed_at: toSeconds(task.completedAt) }),
    ...(task.finishedAt !== null && { finished_at: toSeconds(task.finishedAt) }),
    ...(task.settledAt !== null && { settled_at: toSeconds(task.settledAt) }),
    ...(category !== null && { failure: { category } }),
    ...(submission !== null && { submission: submissionOf(task, submission, reader) }),
    ...(account !== null && { account }),
    ...creditsOf(task),
    ...(reader === "operator" && provider !== null && { provider }),
    ...(reader === "operator" && job !== null && { upstream: { id: job } }),
    callback: callbackOf(task),
  };
}

function submissionOf({ refusal }: ListedTask, state: string, reader: Reader) {
  return { state, ...(reader === "operator" && refusal !== null && { refusal }) };
}

/**
 * Returns the credits of a task by the columns of its index row: of a completed task, held credits are those that are
 * still to be released; of a failed one, those that are still to be refunded.
 */
function creditsOf(task: ListedTask) {
  const { creditsHeld: held, creditsEarned: final, creditsReleased, creditsRefunded } = task;
  const amount = held + final + creditsReleased + creditsRefunded;
  if (amount === 0) return {};
  if (creditsRefunded > 0) return { credits: { amount, state: "refunded" as const } };
  if (creditsReleased > 0) return { credits: { amount, state: "released" as const, final } };
  if (held > 0 && task.status === "failed")
    return { credits: { amount, state: "refunding" as const } };
  if (held > 0 && task.status === "completed")
    return { credits: { amount, state: "releasing" as const, final } };
  return { credits: { amount, state: "charged" as const } };
}

function callbackOf(task: ListedTask) {
  const { callback: status, host, attempts, lastOutcome, lastStatusCode } = task;
  if (status === null) return null;
  return {
    status,
    host,
    attempts,
    ...(lastOutcome !== null && { last_outcome: lastOutcome }),
    ...(lastStatusCode !== null && { last_status_code: lastStatusCode }),
  };
}
