import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

export const deleteAccountDescription = {
  audience: "operator",
  summary: "Delete an account: its keys end and nothing can be registered for it",
  details:
    "Refused with `task_open` while the index knows open tasks of it, while a task that was charged in the last ten minutes is open, or when more than 20 were charged then, unless `force` is true, which also needs no index. The index knows open tasks from `INDEX_DELAY_S` (30 seconds) after their creation on.",
  request: {
    query: {
      force: { description: "`true` deletes it in spite of open tasks.", example: true },
    },
  },
  answers: { 202: emptyAnswer("deleted; its ledger is folded to one total later") },
  problems: ["not_found", "task_open", "index_disabled"],
} as const satisfies RouteDescription;
