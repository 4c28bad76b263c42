import { expect, it } from "vitest";
import { failureOf } from "../../src/providers/failure.ts";
import { requestIdsIn } from "../../src/providers/request-ids.ts";

const ALL = { isGeneric: false, secrets: [] };

it.each<[string, readonly string[]]>([
  ["no id here", []],
  ["Blocked (request id: a1b2c3d4) (request id: e5f6a7b8)", ["a1b2c3d4", "e5f6a7b8"]],
  ["Request id: a1b2c3d4, again: request-id=a1b2c3d4", ["a1b2c3d4"]],
  ["Overloaded: req_011CSHoEeqs5C35K, trace id 0a1b2c3d", ["0a1b2c3d", "req_011CSHoEeqs5C35K"]],
  [
    ["a1", "b2", "c3", "d4", "e5"].map((id) => `request id: ${id.repeat(4)}`).join(", "),
    ["a1a1a1a1", "b2b2b2b2", "c3c3c3c3", "d4d4d4d4"],
  ],
  ["Request id: 02174, trace id 0217, log id 404", ["02174", "0217"]],
  [`request id: 1${"x".repeat(200)}`, [`1${"x".repeat(127)}`]],
])(
  "requestIdsIn returns at most four ids of an upstream's requests, each cut to 128 characters, from the text %j",
  (text, ids) => {
    expect(requestIdsIn(text)).toEqual(ids);
  },
);

it.each([
  ["upstream", ALL, "Blocked by the safety filter"],
  ["generic", { ...ALL, isGeneric: true }, "The upstream reported a failure."],
])(
  "with the relay's setting ERROR_TEXT=%s, a request id in the text of a job's failure is left out of the message and stored separately",
  (_, errorText, message) => {
    const text = "Blocked by the safety filter (request id: 20260619225120)";
    expect(failureOf("failed", { code: null, text }, errorText)).toEqual({
      status: "failed",
      error: { code: "upstream_error", message },
      failure: { category: "moderation", retryable: false, requestIds: ["20260619225120"] },
    });
  },
);

it("when the text of a job's failure is nothing but the id of a request, the failure gets a generic message", () => {
  const { error } = failureOf("failed", { code: null, text: "Request id: a1b2c3d4" }, ALL);
  expect(error.message).toBe("The upstream reported a failure.");
});

it("when the text of a job's failure names no request, the failure has no request ids", () => {
  const { failure } = failureOf("failed", { code: null, text: "Worker crashed" }, ALL);
  expect(failure).toEqual({ category: "provider", retryable: true });
});
