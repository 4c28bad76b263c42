import { describe, expect, it } from "vitest";
import type { CancelAdapter } from "../../src/providers/cancel.ts";
import { ADAPTERS } from "./adapters.ts";
import { EXAMPLES } from "./examples.ts";
import { anAnswer } from "./answer.ts";

const CANCELING = EXAMPLES.flatMap(({ provider, cancels }) =>
  cancels === undefined ? [] : [{ provider, ...cancels }],
);

it("exactly the providers whose adapters describe a call that cancels a job have an example of this call in the tests", () => {
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

    it(`the call that cancels a job of ${provider} escapes a job id with characters of URLs, so that it stays in one segment of the path`, () => {
      const path = adapter.request({ ...job, id: "a/../b?c#d" })?.path;
      expect(path).toBe(request.path.replace(job.id, "a%2F..%2Fb%3Fc%23d"));
    });

    it(`the call that cancels a job of ${provider} is made ${onlyWhile === null ? "in every state of a job" : `only while the job is ${onlyWhile.join(" or ")}`}`, () => {
      expect(adapter.onlyWhile ?? null).toEqual(onlyWhile);
      expect(adapter.forgetsCanceled ?? false).toBe(forgetsCanceled);
    });

    it.each(answers)(
      `the call that cancels a job of ${provider} has the documented answer: %s (%i, %j), read as %s`,
      (_, status, body, means) => {
        expect(adapter.read(anAnswer({ status, body }))).toBe(means);
      },
    );
  },
);

it("no call cancels a job of MiniMax's API v1, which documents none", () => {
  const { request } = adapterOf("minimax");
  expect(request({ id: "106916112212032", endpoint: null })).toBeNull();
  expect(request({ id: "106916112212032", endpoint: "v1" })).toBeNull();
});

function adapterOf(name: string): CancelAdapter {
  const adapter = ADAPTERS.get(name)?.cancels;
  if (adapter === undefined) throw new Error(`${name} describes no call that cancels a job`);
  return adapter;
}
