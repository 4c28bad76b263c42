import { describe, expect, it } from "vitest";
import { toNews, type Observation } from "../../src/providers/observation.ts";
import { failed } from "./fixtures/meanings.ts";

const PLAIN = { isGeneric: false, secrets: [] };

function observed(fields: Partial<Observation>): Observation {
  return {
    jobId: "job-1",
    state: "succeeded",
    urls: ["https://cdn.example.com/a.mp4"],
    metadata: {},
    completedAt: null,
    error: null,
    ...fields,
  };
}

describe("newsOf", () => {
  it("tells a success with its output, its time and the metadata that is known", () => {
    const metadata = {
      seed: 0,
      ratio: "",
      duration: 5,
      resolution: null,
      generate_audio: false,
    };
    const observation = observed({ completedAt: 1767225720000, metadata });
    expect(toNews(observation, PLAIN)).toEqual({
      status: "completed",
      completedAt: 1767225720000,
      urls: ["https://cdn.example.com/a.mp4"],
      metadata: { seed: 0, duration: 5, generate_audio: false },
    });
  });

  it.each([
    [1767225720123.45, 1767225720123],
    [0, 0],
    [-1, null],
    [Number.NaN, null],
    [Infinity, null],
    [9_007_199_254_740_991_000, null],
  ])("keeps only a time that can be stored: %d", (completedAt, kept) => {
    expect(toNews(observed({ completedAt }), PLAIN)).toMatchObject({ completedAt: kept });
  });

  it("tells a success without output apart", () => {
    expect(toNews(observed({ urls: [] }), PLAIN)).toEqual({ status: "no_output" });
  });

  it.each([
    ["IN_QUEUE", "queued"],
    ["dreaming", "processing"],
  ])("takes %s for %s, whatever else is said", (state, status) => {
    expect(toNews(observed({ state }), PLAIN)).toEqual({ status });
  });

  it.each([["paused"], [null]])("has nothing to tell of the state %j", (state) => {
    expect(toNews(observed({ state }), PLAIN)).toBeNull();
  });

  it("does not take a state that ended for a success because of its URLs", () => {
    expect(toNews(observed({ state: "canceled" }), PLAIN)).toEqual(
      failed("canceled", 'The task ended upstream as "canceled".'),
    );
  });

  it("tells a failure in the provider's words", () => {
    const error = { code: "SensitiveContent", text: "Rejected." };
    expect(toNews(observed({ state: "failed", error }), PLAIN)).toEqual(
      failed("moderation", "Rejected."),
    );
  });

  it("tells a failure without the provider's words where they are not wanted", () => {
    const error = { code: "SensitiveContent", text: "Rejected." };
    const errorText = { isGeneric: true, secrets: [] };
    expect(toNews(observed({ state: "failed", error }), errorText)).toEqual(
      failed("moderation", "The upstream reported a failure."),
    );
  });

  it("keeps the credentials of the connection out of a failure", () => {
    const error = { code: null, text: "Wrong key key-0001 given." };
    const errorText = { isGeneric: false, secrets: ["key-0001"] };
    expect(toNews(observed({ state: "failed", error }), errorText)).toEqual(
      failed("provider", "Wrong key … given."),
    );
  });
});
