import { expect, it } from "vitest";
import type { Observation } from "../../src/providers/observation.ts";
import { withReason } from "../../src/providers/stated-reason.ts";

const REPORT = { jobId: "1", urls: [], metadata: {}, completedAt: null };

/** Returns the reason that is read from a report on a failed job in which the adapter has found this error. */
function reasonOf(report: object, error: Observation["error"] = null, state = "failed") {
  return withReason({ ...REPORT, state, error }, report).error?.text ?? null;
}

it.each([
  ["content policy violation", "content policy violation"],
  [
    "Using seed: 7\n 50%\rValueError: no face, see the docs for more info\n",
    "ValueError: no face, see the docs for more info",
  ],
])(
  "when the report on a failed job gives no reason but the log %j, the reason is the log's last line: %s",
  (logs, reason) => {
    expect(reasonOf({ status: "failed", logs })).toBe(reason);
  },
);

it.each<[string, unknown]>([
  ["ends with a line of progress", "100%|#####| 50/50 [00:10<00:00]"],
  ["ends with a setting", "Using seed: 7"],
  ["ends with an info line about a failure", "[INFO] retried after 1 failed request"],
  ["ends with a warning about a failure", "WARNING: failed to load xformers"],
  ["has a failure only before the last line", "ValueError: no face\nUsing seed: 7"],
  ["ends with a very long line", `error ${"a".repeat(500)}`],
  ["has only empty lines", "\n \n"],
  ["is a list instead of a text", [{ level: "error" }]],
])("a failed job gets no reason from its log when the log %s", (_, logs) => {
  expect(reasonOf({ status: "failed", logs })).toBeNull();
});

it("the log of a job gives no reason when the report states a reason or a code elsewhere, or when the job has succeeded", () => {
  const logs = "ValueError: no face";
  expect(reasonOf({ logs, detail: { message: "out of memory" } })).toBe("out of memory");
  expect(reasonOf({ logs }, { code: "E7", text: null })).toBeNull();
  expect(reasonOf({ logs }, { code: null, text: "busy" })).toBe("busy");
  expect(reasonOf({ logs }, null, "succeeded")).toBeNull();
});
