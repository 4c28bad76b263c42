import { expect, it } from "vitest";
import { withheldIn } from "../../src/providers/withheld-output.ts";

it.each([
  ["a count of filtered outputs", { response: { rai_media_filtered_count: "1" } }, null],
  ["a reason for a filtered output", { a: [{ raiFilteredReason: "a reason" }] }, "a reason"],
  ["several reasons", { mediaFilteredReasons: ["one", "two"] }, "one two"],
  ["a reason for a blocked prompt", { promptFeedback: { blockReason: "OTHER" } }, "OTHER"],
  [
    'the finish reason "content_filter"',
    { choices: [{ message: {}, finish_reason: "content_filter" }] },
    null,
  ],
  [
    'the finish reason "IMAGE_SAFETY"',
    { candidates: [{ content: {}, finishReason: "IMAGE_SAFETY" }] },
    null,
  ],
])(
  "a report on a job with %s says that moderation withholds the job's output",
  (_, report, text) => {
    const error = withheldIn(report);
    expect(error?.category).toBe("moderation");
    expect(error?.text).toBe(text ?? "A safety filter of the upstream has withheld the output.");
  },
);

it.each([
  ["a count of 0 filtered outputs", { raiMediaFilteredCount: 0, raiMediaFilteredReasons: [] }],
  ["other outputs beside the count", { raiMediaFilteredCount: 1, videos: [{ mimeType: "a" }] }],
  ['the finish reason "stop"', { choices: [{ finish_reason: "stop" }] }],
  ["words for a filter in the request", { parameters: { blockReason: "a" } }],
  ["nothing but text", "raiMediaFilteredCount"],
])("a report on a job with %s does not say that moderation withholds its output", (_, report) => {
  expect(withheldIn(report)).toBeNull();
});
