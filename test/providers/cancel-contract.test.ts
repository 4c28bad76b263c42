import { describe, expect, it } from "vitest";
import type { CancelAdapter } from "../../src/providers/cancel.ts";
import { ADAPTERS } from "./adapters.ts";
import { EXAMPLES } from "./examples.ts";
import { anAnswer } from "./answer.ts";

const CANCELING = EXAMPLES.flatMap(({ provider, cancels }) =>
  cancels === undefined ? [] : [{ provider, ...cancels }],
);

it("the tests have an example of the call that cancels a job for exactly those providers whose adapters describe such a call", () => {
  const described = [...ADAPTERS].filter(([, { cancels }]) => cancels !== undefined);
  expect(CANCELING.map(({ provider }) => provider).toSorted()).toEqual(
    described.map(([name]) => name).toSorted(),
  );
});

describe.each(CANCELING)(
  "the call that cancels a job of $provider",
  ({ provider, job, request, onlyWhile, forgetsCanceled, answers }) => {
    const adapter = adapterOf(provider);

    it(`the call that cancels a job of ${provider} is ${request.method} ${request.path}`, () => {
      expect(adapter.request(job)).toEqual(request);
    });

    it(`the call that cancels a job of ${provider} escapes a job id that has characters such as / and ?, so that the id stays in one segment of the path`, () => {
      const path = adapter.request({ ...job, id: "a/../b?c#d" })?.path;
      expect(path).toBe(request.path.replace(job.id, "a%2F..%2Fb%3Fc%23d"));
    });

    it(`the call that cancels a job of ${provider} is made ${onlyWhile === null ? "in every state of a job" : `only while the job is ${onlyWhile.join(" or ")}`}`, () => {
      expect(adapter.onlyWhile ?? null).toEqual(onlyWhile);
      expect(adapter.forgetsCanceled ?? false).toBe(forgetsCanceled);
    });

    it.each(answers)(
      `the relay reads a documented answer to the call that cancels a job of ${provider}, %s (HTTP %i, %j), as %s`,
      (_, status, body, means) => {
        expect(adapter.read(anAnswer({ status, body }))).toBe(means);
      },
    );
  },
);

it("for jobs of MiniMax's API v1 the adapter makes no call that cancels, because none is documented", () => {
  const { request } = adapterOf("minimax");
  expect(request({ id: "106916112212032", endpoint: null })).toBeNull();
  expect(request({ id: "106916112212032", endpoint: "v1" })).toBeNull();
});

function adapterOf(name: string): CancelAdapter {
  const adapter = ADAPTERS.get(name)?.cancels;
  if (adapter === undefined) throw new Error(`${name} describes no call that cancels a job`);
  return adapter;
}
