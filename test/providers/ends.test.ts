import { describe, expect, it } from "vitest";
import type { Job } from "../../src/core/record/upstream.ts";
import { toNews } from "../../src/providers/observation.ts";
import { readPollAnswer } from "../../src/providers/poll-answer.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { AnswerReader } from "../../src/providers/provider.ts";
import type { ExampleAnswer } from "../../src/providers/shared/examples/report-examples.ts";
import { anAnswer } from "./answer.ts";

const ERROR_TEXT = { isGeneric: false, secrets: [] };
const JOB: Job = { id: "job-1", endpoint: null };
const UNREAD: AnswerReader = { read: () => ({ kind: "unclear" }) };
const BASE = "https://upstream.example.com";

/** Returns what the relay reads in the last of the answers to a poll, in short. */
function readAnswers(name: string, answers: readonly ExampleAnswer[]): unknown {
  const polls = PROVIDERS.get(name)?.polls;
  if (polls == null) throw new Error(`${name} is not polled`);
  let reader: AnswerReader = polls;
  for (const answer of answers) {
    const reading = readPollAnswer(reader, anAnswer(answer), { ...JOB, endpoint: "a/b" }, BASE);
    if (reading.kind === "observed") {
      const news = toNews(reading.observation, ERROR_TEXT);
      return news?.status === "failed" ? news.failure : (news?.status ?? "unknown state");
    }
    if (reading.kind !== "next") return reading.kind;
    reader = reading;
  }
  return "next";
}

/** Builds the body with which fal states a fault of a type. */
function listed(type: string, msg: string) {
  return { detail: [{ loc: ["body"], msg, type }] };
}

describe("an answer of kie.ai whose envelope has a code", () => {
  it.each([
    [501, "generation failed", "provider"],
    [501, "the prompt was flagged by the content policy", "moderation"],
    [408, "no result", "timeout"],
  ])(
    "an answer of kie.ai with the code %i and the text %j at its top level ends the job, which then has failed with the category %s",
    (code, msg, category) => {
      const retryable = category !== "moderation";
      for (const data of [null, {}, { taskId: "job-1" }]) {
        for (const status of [200, code]) {
          const read = readAnswers("kie", [{ status, body: { code, msg, data } }]);
          expect(read).toEqual({ category, retryable });
        }
      }
    },
  );

  it.each([400, 402, 404, 422, 433, 455, 500, 505])(
    "an answer of kie.ai with the code %i at its top level is about the request and not about the job, and leaves the job open",
    (code) => {
      expect(readAnswers("kie", [{ status: 200, body: { code, msg: "no", data: null } }])).toBe(
        "unclear",
      );
    },
  );

  it("when an answer of kie.ai has both an error code that ends jobs and a state of the job, the state decides how it is read", () => {
    const body = { code: 501, msg: "no", data: { taskId: "job-1", state: "generating" } };
    expect(readAnswers("kie", [{ status: 200, body }])).toBe("processing");
  });
});

describe("the answer about the result of a job at fal", () => {
  const COMPLETED = { status: 200, body: { status: "COMPLETED" } };
  const read = (answer: ExampleAnswer) => readAnswers("fal", [COMPLETED, answer]);

  it.each([
    [504, { "X-Fal-Error-Type": "request_timeout" }, "timeout", true],
    [503, { "X-Fal-Error-Type": "runner_disconnected" }, "provider", true],
    [500, { "X-Fal-Error-Type": "client_cancelled" }, "canceled", false],
    [504, { "X-Fal-Error-Type": "startup_timeout", "X-Fal-Retryable": "false" }, "timeout", false],
    [504, { "X-Fal-Error-Type": "startup_timeout", "X-Fal-Needs-Retry": "0" }, "timeout", false],
  ])(
    "when fal answers the request for a job's result with HTTP %i and the headers %j, the answer ends the job as %s, retryable: %s",
    (status, headers, category, retryable) => {
      for (const body of [undefined, { detail: "no" }]) {
        expect(read({ status, headers, body })).toEqual({ category, retryable });
      }
    },
  );

  it.each([
    [422, "some_new_type", "no", {}, "invalid_input", false],
    [422, "some_new_type", "flagged as unsafe", {}, "moderation", false],
    [422, "some_new_type", "no", { "X-Fal-Retryable": "true" }, "invalid_input", true],
    [500, "some_new_type", "no", {}, "provider", true],
    [500, "some_new_type", "no", { "X-Fal-Retryable": "false" }, "provider", false],
    [422, "content_policy_violation", "no", {}, "moderation", false],
  ])(
    "when fal answers the request for a job's result with HTTP %i, the error type %s, the text %j and the headers %j, the answer ends the job as %s, retryable: %s",
    (status, type, msg, headers, category, retryable) => {
      const failure = read({ status, headers, body: listed(type, msg) });
      expect(failure).toEqual({ category, retryable });
    },
  );

  it.each([
    [401, "unclear"],
    [403, "unclear"],
    [429, "limited"],
  ])(
    "when fal answers the request for a job's result with HTTP %i and an error type, the answer is about the request itself, and leaves the job open",
    (status, kind) => {
      const headers = { "X-Fal-Error-Type": "unauthorized", "X-Fal-Retryable": "true" };
      expect(read({ status, headers, body: { detail: "no", error_type: "x" } })).toBe(kind);
    },
  );

  it("when fal answers the request for a job's result with an error that is not in fal's form, the job stays open, even if a header says whether a retry helps", () => {
    for (const status of [500, 502, 503]) {
      expect(read({ status, headers: { "X-Fal-Retryable": "false" }, body: {} })).toBe("unclear");
    }
  });
});

describe("an answer with an HTTP status from 400 on", () => {
  const failed = { id: "job-1", status: "failed", error: "width must be a multiple of 64" };

  it.each([400, 402, 409, 422, 500])(
    "when an answer to a poll names the job and says that the job has failed, the answer ends the job, even with HTTP %i",
    (status) => {
      expect(readAnswers("replicate", [{ status, body: failed }])).toMatchObject({
        category: "provider",
      });
    },
  );

  it.each([
    [404, failed, "unclear"],
    [408, failed, "unclear"],
    [502, failed, "unclear"],
    [503, failed, "unclear"],
    [401, failed, "unauthorized"],
    [403, failed, "unauthorized"],
    [429, failed, "limited"],
    [400, { ...failed, id: "job-2" }, "unclear"],
    [400, { ...failed, id: undefined }, "unclear"],
    [400, { ...failed, status: "error" }, "unclear"],
    [400, { ...failed, error: "Invalid API key" }, "unclear"],
    [400, { ...failed, status: "succeeded", output: `${BASE}/a.png` }, "unclear"],
    [400, { ...failed, status: "processing" }, "unclear"],
  ])(
    "an answer to a poll with HTTP %i and the body %j says nothing about the job, and is read as %s",
    (status, body, kind) => {
      expect(readAnswers("replicate", [{ status, body }])).toBe(kind);
    },
  );
});

describe.each([
  ["ark", (state: string, error?: unknown) => ({ status: state, error })],
  ["luma", (state: string, error?: unknown) => ({ state, failure_reason: error })],
  ["vidu", (state: string, error?: unknown) => ({ state, err_msg: error })],
  ["wavespeed", (state: string, error?: unknown) => ({ data: { status: state, error } })],
  ["runway", (state: string, error?: unknown) => ({ status: state, failure: error })],
  [
    "dashscope",
    (state: string, error?: unknown) => ({ output: { task_status: state, message: error } }),
  ],
  ["replicate", (state: string, error?: unknown) => ({ status: state, error })],
  ["higgsfield", (state: string, error?: unknown) => ({ status: state, error })],
  ["atlascloud", (state: string, error?: unknown) => ({ data: { status: state, error } })],
])("an answer of %s that names no job", (name, body) => {
  it(`when an answer of ${name} to a poll names no job and has a state that only jobs have, such as processing, the answer counts for the polled job`, () => {
    const read = ["failed", "processing", "queued"].map((state) =>
      readAnswers(name, [{ status: 200, body: body(state) }]),
    );
    expect(read).toEqual([{ category: "provider", retryable: true }, "processing", "queued"]);
  });

  it.each(["ok", "error", "fail", "success"])(
    `when an answer of ${name} to a poll names no job and has the state %s, which servers also report of themselves, the answer is not understood`,
    (state) => {
      expect(readAnswers(name, [{ status: 200, body: body(state) }])).toBe("unclear");
    },
  );

  it(`when an answer of ${name} to a poll names no job and says that the key is wrong, the answer ends no task`, () => {
    const text = name === "ark" ? { code: "Unauthorized", message: "no" } : "Invalid API key";
    expect(readAnswers(name, [{ status: 200, body: body("failed", text) }])).toBe("unclear");
  });
});

describe("an answer that names the job and has an error in place of a state", () => {
  const OPENAI = { id: "job-1", object: "video" };

  it.each([
    [{ ...OPENAI, error: { code: "moderation_blocked", message: "no" } }, "moderation", false],
    [{ ...OPENAI, error: { code: null, message: "timed out" } }, "timeout", true],
    [{ ...OPENAI, error: { code: "late", message: "no", retryable: false } }, "provider", false],
  ])(
    "when an answer to a poll names the job and has an error but no state, the answer ends the job: %j as %s, retryable: %s",
    (body, category, retryable) => {
      expect(readAnswers("openai-videos", [{ status: 200, body }])).toEqual({
        category,
        retryable,
      });
    },
  );

  it.each([
    [{ ...OPENAI, error: { code: "invalid_api_key", message: "no" } }],
    [{ ...OPENAI, error: { code: "rate_limit_exceeded", message: "no" } }],
    [{ ...OPENAI, error: { code: null, message: "Service temporarily unavailable" } }],
    [{ ...OPENAI, id: "job-2", error: { code: "late", message: "no" } }],
    [{ error: { code: "late", message: "no" } }],
  ])(
    "when an answer to a poll has an error but no state, and may be about something else than the job, the answer does not end the job: %j",
    (body) => {
      expect(readAnswers("openai-videos", [{ status: 200, body }])).toMatch(
        /unknown state|unclear/,
      );
    },
  );

  it("when an answer to a poll names the job and has both an error and a state, the state decides how the answer is read", () => {
    const body = { ...OPENAI, status: "in_progress", error: { message: "a worker was lost" } };
    expect(readAnswers("openai-videos", [{ status: 200, body }])).toBe("processing");
  });
});

it.each([
  ["ark", { id: "job-1", status: "failed", error: { code: "AccountOverdueError" } }, "funds"],
  ["ark", { id: "job-1", status: "failed", error: { code: "ModelNotOpen" } }, "key"],
  ["vidu", { id: "job-1", state: "failed", err_code: "CreditInsufficient" }, "funds"],
  [
    "openai-videos",
    { id: "job-1", status: "failed", error: { code: "billing_hard_limit_reached" } },
    "funds",
  ],
  [
    "newapi",
    {
      code: "success",
      data: { task_id: "job-1", status: "FAILURE", error: { code: "insufficient_user_quota" } },
    },
    "funds",
  ],
])(
  "when %s reports a failed job with a code with which it refuses submissions because of the operator's account, the failure is the provider's, with a code and a message of the relay: %j",
  (name, body, refusal) => {
    const reading = readPollAnswer(
      PROVIDERS.get(name)?.polls ?? UNREAD,
      anAnswer({ status: 200, body }),
      JOB,
      BASE,
    );
    expect(reading.kind === "observed" && toNews(reading.observation, ERROR_TEXT)).toEqual({
      status: "failed",
      error: {
        code: `upstream_${refusal}`,
        message: "The service takes no jobs of this kind at the moment.",
      },
      failure: { category: "provider", retryable: false },
    });
  },
);

it("a report of a failure may state anywhere whether a retry helps, except inside the job's input when the report repeats this input", () => {
  const failed = { id: "job-1", status: "failed", error: "no" };
  const read = (members: object) =>
    readAnswers("replicate", [{ status: 200, body: { ...failed, ...members } }]);
  expect(read({ meta: { is_retryable: "false" } })).toMatchObject({ retryable: false });
  expect(read({ input: { retryable: false } })).toMatchObject({ retryable: true });
});

it("when an answer of Vidu to a poll says success but names no job, it counts for the polled job only if it has a list of creations", () => {
  expect(readAnswers("vidu", [{ status: 200, body: { state: "success", creations: [] } }])).toBe(
    "no_output",
  );
  expect(readAnswers("vidu", [{ status: 200, body: { state: "success" } }])).toBe("unclear");
});
