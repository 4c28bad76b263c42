import type { UpstreamResult } from "../../src/core/record/upstream.ts";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import {
  callbackBody,
  errorCodeOf,
  sameResult,
  urlsOf,
} from "../../src/core/record/callback-body.ts";
import { DAY_MS } from "../../src/core/time.ts";
import { aCompletion, aFailure, aFinishedTask, ID, MODEL, NOW, NOW_S, VIDEO } from "./builders.ts";

const identity = { id: ID, model: MODEL, createdAt: NOW - 1_000 };
const HEAD = `"model":"${MODEL}","created_at":${NOW_S - 1}`;

/** Parses JSON, as it arrives, with keys that an object literal would read as syntax. */
function parsed(text: string): JsonObject {
  return JSON.parse(text);
}

function metadataTextOf(metadata: JsonObject): string | undefined {
  const body = callbackBody(identity, aCompletion({ metadata }), NOW);
  return /"metadata":(.*)}}$/s.exec(body)?.[1];
}

describe("the callback body", () => {
  it("the callback body of a completed task has exactly the documented fields in their order", () => {
    const metadata = {
      framespersecond: 24,
      generate_audio: false,
      resolution: "720p",
      duration: 5,
      ratio: "16:9",
      seed: 42,
    };
    const result = aCompletion({ completedAt: NOW + 2_999, urls: [VIDEO, "http://b/"], metadata });
    expect(callbackBody(identity, result, NOW)).toBe(
      `{"id":"${ID}","status":"completed",${HEAD},"completed_at":${NOW_S + 3},` +
        `"output":{"urls":["${VIDEO}","http://b/"],"metadata":{"seed":42,"ratio":"16:9",` +
        `"duration":5,"resolution":"720p","generate_audio":false,"framespersecond":24}}}`,
    );
  });

  it("the callback body of a failed task has the members id, status, model, created_at and error, and no completed_at", () => {
    const body = callbackBody(identity, aFailure("c", 'said "no"'), NOW);
    expect(body).toBe(
      `{"id":"${ID}","status":"failed",${HEAD},"error":{"code":"c","message":"said \\"no\\""}}`,
    );
  });

  it("completed_at in a callback body is the time at which the relay got the result when the upstream has stated no time", () => {
    expect(JSON.parse(callbackBody(identity, aCompletion(), NOW + 5_000))).toMatchObject({
      completed_at: NOW_S + 5,
    });
  });

  it.each([
    ["is a day ahead", NOW + DAY_MS, NOW_S + 86_400],
    ["is more than a day ahead", NOW + DAY_MS + 1, NOW_S],
    ["lies in the year 5138", 99_999_999_999_000, NOW_S],
    ["lies in the past", 1_000, 1],
  ])(
    "completed_at in a callback body is the job's end that the provider states or, if that is over a day ahead, the time at which the relay got the result: an end that %s gives %i",
    (_, completedAt, at) => {
      const body = callbackBody(identity, aCompletion({ completedAt }), NOW);
      expect(JSON.parse(body)).toMatchObject({ completed_at: at });
    },
  );

  it("the times in a callback body are whole seconds, rounded down", () => {
    const result = aCompletion({ completedAt: 1_999 });
    expect(JSON.parse(callbackBody({ ...identity, createdAt: 999 }, result, NOW))).toMatchObject({
      created_at: 0,
      completed_at: 1,
    });
  });

  it("the callback body of a failed task has only the code and the message of the stored error", () => {
    const error = { code: "c", message: "m", stack: "secret" };
    const result: UpstreamResult = { status: "failed", error };
    expect(JSON.parse(callbackBody(identity, result, NOW))).toMatchObject({
      error: { code: "c", message: "m" },
    });
    expect(callbackBody(identity, result, NOW)).not.toContain("secret");
  });
});

describe("output metadata", () => {
  it.each([
    ["is an empty object when the result has no metadata", "{}", "{}"],
    [
      "has the six documented fields first and the others in the order received",
      '{"z":1,"seed":2,"a":3,"ratio":"1:1"}',
      '{"seed":2,"ratio":"1:1","z":1,"a":3}',
    ],
    [
      'has keys like "7" after the documented fields',
      '{"7":"x","seed":1,"1":"y"}',
      '{"seed":1,"1":"y","7":"x"}',
    ],
    [
      "keeps __proto__ as a plain key",
      '{"__proto__":{"a":1},"seed":1}',
      '{"seed":1,"__proto__":{"a":1}}',
    ],
    [
      "keeps constructor as a plain key",
      '{"constructor":1,"toString":2}',
      '{"constructor":1,"toString":2}',
    ],
    [
      "keeps falsy values (0, false, empty text, null)",
      '{"seed":0,"generate_audio":false,"ratio":"","x":null}',
      '{"seed":0,"ratio":"","generate_audio":false,"x":null}',
    ],
    [
      "escapes keys and values where JSON needs it",
      '{"\\"\\n":"\\u2028\\ud800"}',
      '{"\\"\\n":"\u2028\\ud800"}',
    ],
    [
      "keeps nested values unchanged",
      '{"x":{"seed":1,"b":[{"2":1,"1":2}]}}',
      '{"x":{"seed":1,"b":[{"1":2,"2":1}]}}',
    ],
  ])(
    "the metadata in the callback body of a completed task is that of the upstream's result, with the documented fields first: it %s",
    (_what, received, written) => {
      expect(metadataTextOf(parsed(received))).toBe(written);
    },
  );
});

describe("the error code of a body", () => {
  it('errorCodeOf returns error.code of a callback body, and "unknown" when the body has no error', () => {
    expect(errorCodeOf(callbackBody(identity, aFailure("too_long"), NOW))).toBe("too_long");
    expect(errorCodeOf(callbackBody(identity, aCompletion(), NOW))).toBe("unknown");
  });
});

it("urlsOf returns the links in a callback body in their order, and none for a task that has failed", () => {
  const urls = [VIDEO, "http://b/"];
  expect(urlsOf(callbackBody(identity, aCompletion({ urls }), NOW))).toEqual(urls);
  expect(urlsOf(callbackBody(identity, aFailure(), NOW))).toEqual([]);
});

describe("sameResult", () => {
  const dangerous = parsed('{"__proto__":{"a":1}}');
  const task = aFinishedTask({
    body: callbackBody(
      { id: ID, model: MODEL, createdAt: NOW },
      aCompletion({ metadata: dangerous }),
      NOW,
    ),
  });

  it("sameResult, which compares a reported result with a stored one, finds a difference even if it is only under the key __proto__", () => {
    const other = parsed('{"__proto__":{"a":2}}');
    expect(sameResult(task, aCompletion({ metadata: dangerous }))).toBe(true);
    expect(sameResult(task, aCompletion({ metadata: other }))).toBe(false);
    expect(sameResult(task, aCompletion({ metadata: {} }))).toBe(false);
  });

  it("sameResult, which compares a reported result with a stored one, finds no difference where the JSON text of a callback body writes -0, 1e-7 or a large integer in another way", () => {
    const metadata = parsed('{"seed":-0,"big":12345678901234567890,"small":1e-7}');
    const result = aCompletion({ metadata });
    const body = callbackBody({ id: ID, model: MODEL, createdAt: NOW }, result, NOW);
    expect(sameResult(aFinishedTask({ body }), result)).toBe(true);
  });
});
