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
  "a failed job that states no other reason has the last line of the log %j as its reason: %s",
  (logs, reason) => {
    expect(reasonOf({ status: "failed", logs })).toBe(reason);
  },
);

it.each<[string, unknown]>([
  ["a line of progress", "100%|#####| 50/50 [00:10<00:00]"],
  ["a setting", "Using seed: 7"],
  ["a note of a failure", "[INFO] retried after 1 failed request"],
  ["a warning of a failure", "WARNING: failed to load xformers"],
  ["an older failure", "ValueError: no face\nUsing seed: 7"],
  ["a very long line", `error ${"a".repeat(500)}`],
  ["only empty lines", "\n \n"],
  ["no text", [{ level: "error" }]],
])("a failed job gets no reason from a log that ends with %s", (_, logs) => {
  expect(reasonOf({ status: "failed", logs })).toBeNull();
});

it("a reason or code that a failed job states outside of its log counts instead of the log", () => {
  const logs = "ValueError: no face";
  expect(reasonOf({ logs, detail: { message: "out of memory" } })).toBe("out of memory");
  expect(reasonOf({ logs }, { code: "E7", text: null })).toBeNull();
  expect(reasonOf({ logs }, { code: null, text: "busy" })).toBe("busy");
  expect(reasonOf({ logs }, null, "succeeded")).toBeNull();
});
