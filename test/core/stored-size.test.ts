import { serialize } from "node:v8";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonValue } from "../../src/core/json.ts";
import { MAX_ENDED_BYTES, MAX_REGISTERED_BYTES } from "../../src/core/plans/stored-size.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { storedBytes } from "../../src/core/stored-bytes.ts";
import { transition } from "../../src/core/transition.ts";
import { requireStorable } from "../simulation/storage-limit.ts";
import {
  aCompletion,
  aCreation,
  anEnd,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  callbackOf,
  CONNECTION,
  DAY,
  ID,
  NOW,
  POLICY,
  URL_B,
  VIDEO,
} from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import { anAcceptance, aSubmittedRegistration } from "./submission-builders.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  newsAnswer,
  NO_KEY,
} from "./upstream-builders.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** Bytes of the header with which V8 begins every value. */
const HEADER_BYTES = 2;

/** Returns a text whose characters take two bytes each. */
function wide(length: number): string {
  return "画".repeat(length);
}

function aNote(note: JsonValue) {
  return aCompletion({ metadata: { note } });
}

function links(count: number, length = VIDEO.length) {
  return aCompletion({ urls: Array.from({ length: count }, () => VIDEO.padEnd(length, "x")) });
}

const TOO_LONG = [
  ["1.8 million characters", aNote("x".repeat(1_800_000))],
  [
    "900,000 characters, stored in 2 bytes each because one of them is beyond U+00FF,",
    aNote(`画${"x".repeat(900_000)}`),
  ],
  ["90,000 numbers of the value 1e20", aNote(Array.from({ length: 90_000 }, () => 1e20))],
] as const;
const TOO_MANY = [
  ["1,001 output URLs", links(1_001)],
  ["an output URL of 8,193 characters", links(1, 8_193)],
] as const;

it("the size that the relay computes for a stored value is at least the size that the value takes in V8's format", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }));
  const numbers = fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true })));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(text, numbers, fc.boolean(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value")),
    object: fc.dictionary(text, tie("value")),
  }));
  fc.assert(
    fc.property(value, (given) => {
      expect(storedBytes(given)).toBeGreaterThanOrEqual(serialize(given).length - HEADER_BYTES);
    }),
  );
});

it.each([0, 127, 128, 16_384])(
  "the size that the relay computes for a list of %i booleans is that in V8's format",
  (length) => {
    const list = Array.from({ length }, (_, index) => index % 2 === 0);
    expect(storedBytes(list)).toBe(serialize(list).length - HEADER_BYTES);
  },
);

it.each([127, 128, 16_383, 16_384, 2_097_152])(
  "the size that the relay computes for text of %i characters is at most one byte more than in V8's format",
  (length) => {
    for (const text of ["x".repeat(length), "é".repeat(length), wide(length)]) {
      expect([0, 1]).toContain(storedBytes(text) - (serialize(text).length - HEADER_BYTES));
    }
  },
);

it.each(TOO_LONG)(
  "an event that reports a result of %s is refused as too large, and changes nothing",
  (_, result) => {
    const rejection = { code: "too_large", maxBytes: 1_700_000 };
    for (const task of [null, anOpenTask()]) {
      const event = aReport(result, aCreation());
      expect(transition(task, event, POLICY, NOW)).toEqual({ kind: "reject", rejection });
    }
  },
);

it.each([...TOO_LONG, ...TOO_MANY])(
  "a signed hook or a poll that brings a result of %s fails the task with upstream_error",
  (_, result) => {
    const events = [aHook(result, { isSigned: true }), aPollEnd(newsAnswer(result))];
    for (const event of events) {
      const { status, body, failure } = finish(anAttachedTask(), event);
      expect({ status, failure }).toEqual({
        status: "failed",
        failure: { category: "provider", retryable: false },
      });
      expect(JSON.parse(body)).toMatchObject({
        error: {
          code: "upstream_error",
          message: "The upstream reported a result too large to be stored.",
        },
      });
    }
  },
);

it.each([
  ["1,000 output URLs", links(1_000, 1_500)],
  ["output URLs of 8,192 characters", links(200, 8_192)],
])("a signed hook that brings a result of %s completes the task", (_, result) => {
  const task = finish(anAttachedTask(), aHook(result, { isSigned: true }));
  expect(JSON.parse(task.body)).toMatchObject({ output: { urls: result.urls } });
});

function largeRegistration(text: string) {
  return aRegistration({ provider: CONNECTION, parameters: { text } });
}

function largeReport(text: string) {
  return aReport(aNote(text), aCreation());
}

/** Returns the length of a text with which the stored value has exactly the largest permitted size. */
function lengthFor(maxBytes: number, stored: (text: string) => unknown): number {
  const tried = 900_000;
  return maxBytes - storedBytes(stored("x".repeat(tried))) + tried;
}

it("the largest registration that is accepted leaves room in the record for stored hooks and a long error; a larger one is refused", () => {
  const length = lengthFor(MAX_REGISTERED_BYTES, (text) => apply(null, largeRegistration(text)));
  const rejection = { code: "too_large", maxBytes: 1_000_000 };
  const larger = largeRegistration("x".repeat(length + 1));
  expect(transition(null, larger, POLICY, NOW)).toEqual({ kind: "reject", rejection });
  let task = apply(null, largeRegistration("x".repeat(length)));
  for (let job = 0; job < 9; job++) {
    task = apply(task, aHook(links(1, 8_000), { jobId: `job-${job}` }));
  }
  requireStorable(task);
  const error = { code: "upstream_error", message: "\u0000".repeat(1_024) };
  const failed = aHook(anUpstreamFailure({ error }), { isSigned: true, jobId: null });
  expect(finish(task, failed, NOW, NO_KEY).body).toContain(JSON.stringify(error));
});

/**
 * Returns a redelivery to a long URL: first with keys that the task remembers, later to endpoints with the longest
 * headers that one may have.
 */
function aLargeRedelivery(number: number) {
  const url = `${URL_B}/${wide(2_000)}${number}`;
  if (number < 20) {
    const orderedBy = number % 2 === 0 ? "operator" : "owner";
    const idempotencyKey = "k".repeat(250) + number;
    return aRedelivery({ callbackUrl: url, idempotencyKey, orderedBy });
  }
  const names = Array.from({ length: 8 }, (_, at) => `${at}`.repeat(100));
  const ciphertext = "c".repeat(45_000);
  const headers = { names, sealedWith: "secret-1", nonce: "n".repeat(16), ciphertext };
  const copy = { name: "e".repeat(40), headers, secret: { id: ID, generation: number } };
  const endpoint = { kind: "known", url, copy } as const;
  return aRedelivery({ callbackUrl: `endpoint:${copy.name}`, endpoint });
}

it("a task with the largest result that is accepted has room in its record for all later attempts, redeliveries and operator events", () => {
  const policy = aPolicy({ isOperatorNotified: true });
  const length = lengthFor(MAX_ENDED_BYTES, (text) => apply(null, largeReport(text)));
  let now = NOW;
  let task: TaskRecord = apply(null, largeReport("x".repeat(length)), now, policy);
  const responseExcerpt = wide(1_024);
  for (let number = 1; number <= 40; number++) {
    now += DAY;
    if (!isInFlight(task)) task = apply(task, { type: "attempt_started" }, now, policy);
    task = apply(task, anEnd(number, { responseExcerpt }), now, policy);
    if (number < 3) continue;
    task = apply(task, aLargeRedelivery(number), now, policy);
    requireStorable(task);
  }
  expect(callbackOf(task).attempts.at(-1)?.endpoint).toMatchObject({ name: "e".repeat(40) });
});

function isInFlight(task: TaskRecord): boolean {
  return callbackOf(task).state.kind === "in_flight";
}

/** Registers a task with a submission and with a note of this length. */
function begin(length: number) {
  const event = aSubmittedRegistration({ metadata: { note: "x".repeat(length) } });
  return transition(null, event, POLICY, NOW);
}

it("the answer to a submission fits into the record of the largest task that can be registered", () => {
  const empty = begin(0);
  if (empty.kind !== "changed") throw new Error("expected a registration");
  const largest = begin(MAX_REGISTERED_BYTES - storedBytes(empty.record) - 2);
  if (largest.kind !== "changed") throw new Error("expected a registration");
  expect(begin(MAX_REGISTERED_BYTES).kind).toBe("reject");
  const answer = { status: 200, contentType: "application/json", body: wide(8 * 1_024) };
  const accepted = apply(largest.record, anAcceptance({ answer }));
  expect(accepted.submission?.answer).toEqual(answer);
  requireStorable(accepted);
});
