import { expect, it } from "vitest";
import { taskView } from "../../src/core/views/task-view.ts";
import { ACCOUNT, aFinishedTask, anOpenTask, BODY, ID, MODEL, NOW_S } from "./builders.ts";

const HEAD = `{"id":"${ID}","status":"pending","model":"${MODEL}","created_at":${NOW_S}`;
const open = anOpenTask({ account: ACCOUNT });

it.each([
  ["an open task", open, `${HEAD},"callback":{"status":"waiting"}}`],
  ["an open task without a callback", { ...open, callbackUrl: null }, `${HEAD},"callback":null}`],
  ["a finished task", aFinishedTask(), `${BODY.slice(0, -1)},"callback":{"status":"delivered"}}`],
])(
  "the status link of %s shows the members of its callback body and the status of its callback, and nothing else",
  (_what, task, text) => {
    expect(taskView(task, "link")).toBe(text);
  },
);
