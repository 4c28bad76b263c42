import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Job } from "../../../src/core/record/upstream.ts";
import { parseDeclaration } from "../../../src/providers/generic/declaration.ts";
import { toNews } from "../../../src/providers/observation.ts";
import { readPollAnswer } from "../../../src/providers/poll-answer.ts";
import { declared } from "../adapters.ts";
import { anAnswer } from "../answer.ts";

const JOB: Job = { id: "job-1", endpoint: null };
const BASE = "https://upstream.example.com";
const ERROR_TEXT = { isGeneric: false, secrets: [] };
const POLL = {
  path: "/jobs/{id}",
  id: ["/id", "/errors/*/job"],
  state: "/state",
  outputs: ["/file"],
  error: { code: ["/code", "/errors/*/code"], message: ["/msg", "/errors/*/text"] },
};
const ENDS = {
  "/code": { 501: "failed", 1301: "moderated", CANCELED: "canceled" },
  "/errors/*/code": { "*": "failed" },
};

function declarationWith(poll: JsonObject): JsonObject {
  return {
    provider: "generic",
    base_url: BASE,
    submit: { path: "/jobs", id: "/id" },
    poll: { ...POLL, ...poll },
  };
}

/** Returns what the relay reads in an answer of an upstream whose declaration has these members of `poll`. */
function read(body: unknown, poll: JsonObject = { ends: ENDS }, status = 200): unknown {
  const { polls } = declared("own", declarationWith(poll));
  const reading = readPollAnswer(polls, anAnswer({ status, body }), JOB, BASE);
  if (reading.kind !== "observed") return reading.kind;
  const news = toNews(reading.observation, ERROR_TEXT);
  if (news?.status !== "failed") return news?.status ?? "unknown state";
  return { ...news.failure, message: news.error.message };
}

describe("a value that a declaration lists as an end", () => {
  it.each([
    [{ code: 501, msg: "late" }, "provider", true, "late"],
    [
      { code: "501", msg: "Flagged by the content policy" },
      "moderation",
      false,
      "Flagged by the content policy",
    ],
    [{ code: 1301, msg: "no" }, "moderation", false, "no"],
    [{ code: "CANCELED", id: "job-1" }, "canceled", false, '"CANCELED"'],
    [{ code: 501, state: "running", msg: "late" }, "provider", true, "late"],
  ])(
    "an answer with a value that the upstream's declaration lists as an end ends the job: %j as %s, retryable: %s, with the message %s",
    (body, category, retryable, message) => {
      expect(read(body)).toEqual({ category, retryable, message });
    },
  );

  it.each([
    [{ code: 500, msg: "no" }],
    [{ code: "constructor", msg: "no" }],
    [{ code: null }],
    [{ data: { code: 501 } }],
  ])(
    "the answer %j does not end the job, because it has no value that the upstream's declaration lists as an end, or has it at another place than listed",
    (body) => {
      expect(read(body)).toBe("unclear");
    },
  );

  it("an answer with a value that the declaration lists as an end does not end the job when its HTTP status is 401, 403, 404, 429, 502 or 503", () => {
    const kinds = [401, 403, 429, 404, 502, 503].map((status) =>
      read({ code: 501, id: "job-1" }, { ends: ENDS }, status),
    );
    expect(kinds).toEqual([
      "unauthorized",
      "unauthorized",
      "limited",
      "unclear",
      "unclear",
      "unclear",
    ]);
  });
});

/** Builds an answer with one error in a list. */
function withError(code: unknown, job: unknown) {
  return { errors: [{ code, job, text: "no" }] };
}

describe("any error of a declaration in an answer that names the job", () => {
  it.each([
    ["timeoutProvider", "timeout", true],
    ["contentRejected", "moderation", false],
    ["insufficientCredits", "provider", false],
    ["inferenceError", "provider", true],
    [7, "provider", true],
  ])(
    "when an upstream's declaration says that any error ends the job, the code %j ends it as %s, retryable: %s",
    (code, category, retryable) => {
      expect(read(withError(code, "job-1"))).toEqual({ category, retryable, message: "no" });
      expect(read(withError(code, "job-1"), { ends: ENDS }, 400)).toMatchObject({ category });
    },
  );

  it.each([
    "invalidApiKey",
    "unauthorized",
    "missingToken",
    "rateLimitExceeded",
    "tooManyRequests",
    "serviceUnavailable",
    "jobNotFound",
    "maintenance",
  ])(
    "when an upstream's declaration says that any error ends the job, the code %s does not end it, because this code is about the request",
    (code) => {
      expect(read(withError(code, "job-1"))).toBe("unknown state");
    },
  );

  it.each([
    [withError("late", "job-2")],
    [withError("late", undefined)],
    [withError(null, "job-1")],
    [withError("", "job-1")],
  ])(
    "when an upstream's declaration says that any error ends the job, the answer %j does not end it, because it lacks an error code or the job's id",
    (body) => {
      expect(read(body)).not.toMatchObject({ category: expect.anything() });
    },
  );

  it("when an answer has several errors, the failure's message is that of the error that ends the job, even if another error stands before it", () => {
    const errors = [
      { code: "rateLimitExceeded", text: "slow" },
      { code: "inferenceError", job: "job-1", text: "broken" },
    ];
    expect(read({ errors })).toMatchObject({ message: "broken" });
  });
});

it.each([
  [{ state: "failed", code: "late", again: false }, "/again", false],
  [{ state: "failed", code: "flagged", again: "true" }, "/again", true],
  [{ state: "failed", code: "flagged", again: "perhaps" }, "/again", false],
  [{ state: "failed", code: "late" }, "/again", true],
])(
  "whether the failure %j is worth a retry depends on the member again, to which the declaration points, or, if this is neither true nor false, on the failure's code",
  (body, place, retryable) => {
    const error = { code: "/code", retryable: place };
    expect(read(body, { error })).toMatchObject({ retryable });
  },
);

it.each([
  [{ state: "failed", error: { type: "x", exception_message: "no memory" } }, "no memory"],
  [{ state: "failed", message: "success", result: { failReason: "too dark" } }, "too dark"],
  [{ state: "failed", input: { message: "a fox" } }, 'The task ended upstream as "failed".'],
  [
    { state: "failed", msg: "https://cdn.example.com/a.mp4" },
    'The task ended upstream as "failed".',
  ],
  [
    { state: "failed", detail: { prompt: { reason: "a fox" }, errorMsg: " " } },
    'The task ended upstream as "failed".',
  ],
])(
  "the message of the failure %j, for which the upstream's declaration does not say where messages are, is %s",
  (body, message) => {
    expect(read(body, { error: null })).toMatchObject({ message });
  },
);

it("an answer without a state is a success when it has an output; when it has only the job's id, it counts as the state that the declaration names under otherwise", () => {
  const otherwise = { otherwise: "processing" };
  const file = `${BASE}/a.png`;
  expect(read({ id: "job-1", file }, otherwise)).toBe("completed");
  expect(read({ file, state: null }, otherwise)).toBe("completed");
  expect(read({ id: "job-1" }, otherwise)).toBe("processing");
  expect(read({ note: "hello" }, otherwise)).toBe("unclear");
  expect(read({ state: "running", file }, otherwise)).toBe("processing");
});

it.each([
  [{ code: { 501: "failed" } }, "poll.ends"],
  [{ "/code": { 501: "completed" } }, "poll.ends./code.501"],
  [{ "/code": ["501"] }, "poll.ends./code"],
])(
  "an upstream's declaration whose member poll.ends is %j is refused with a message about %s",
  (ends, place) => {
    const parsed = parseDeclaration(declarationWith({ ends }));
    const faults = parsed.ok ? [] : parsed.error.map(({ path }) => path.join("."));
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault.startsWith(place)).toBe(true);
  },
);
