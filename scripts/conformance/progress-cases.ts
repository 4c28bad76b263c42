import type { ConformanceCase, Expected } from "./cases.ts";
import type { RequestBuilder } from "./requests.ts";

/** Requests that only a receiver gets which asks for progress. */
export const PROGRESS: readonly ConformanceCase[] = [
  {
    name: "progress",
    when: "it tells how far a running job is",
    reason: "it expects the end of a task in each callback",
    requests: async (builder) => [accept(await builder.progress(40))],
  },
  {
    name: "progress-unknown",
    when: "it tells that a job runs, and no percentage",
    reason: "it expects a number as the progress, which is null here",
    requests: async (builder) => [accept(await builder.progress(null))],
  },
  {
    name: "end-after-progress",
    when: "it tells the end of a task whose progress has come before",
    reason:
      "it takes the end for a repetition, because it stores the id of the task at its progress",
    requests: async (builder) => [
      accept(await builder.progress(40)),
      { expected: "act", request: await builder.signed() },
    ],
  },
];

function accept(request: Awaited<ReturnType<RequestBuilder["progress"]>>): Expected {
  return { expected: "accept", request };
}
