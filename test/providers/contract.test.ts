import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/core/json.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { toNews, type Observation } from "../../src/providers/observation.ts";
import type { Reading, UpstreamProvider } from "../../src/providers/provider.ts";
import type { HookFixture, PollFixture } from "./fixture.ts";
import { FIXTURES } from "./fixtures/index.ts";
import { aHook } from "./hook.ts";
import { anyJson, damaged } from "./hostile-json.ts";

const ERROR_TEXT = { isGeneric: false, secrets: [] };
const WIRE_TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  seed: Number.isInteger,
  ratio: (value) => typeof value === "string",
  duration: Number.isInteger,
  resolution: (value) => typeof value === "string",
  generate_audio: (value) => typeof value === "boolean",
  framespersecond: Number.isInteger,
};

it("every provider is registered under its own name and has fixtures", () => {
  const names = [...PROVIDERS.values()].map(({ name }) => name);
  const named = FIXTURES.map((fixtures) => fixtures.provider);

  expect(names).toEqual([...PROVIDERS.keys()]);
  expect(named.toSorted()).toEqual(names.toSorted());
});

describe.each(FIXTURES)("the adapter of $provider", ({ provider: name, hooks, polls }) => {
  const provider = providerNamed(name);
  const { hooks: adapter } = provider;

  it("names base URLs that a path can be appended to", () => {
    for (const baseUrl of provider.baseUrls) {
      expect(baseUrl).toMatch(/^https:\/\/[a-z0-9.-]+(\/[\w.-]+)*$/);
      expect(URL.canParse(baseUrl)).toBe(true);
    }
  });

  it.each(["../x", "a?b", "a#b", "a/b", "a%2Fb", "a&b=c", "ä b"])(
    "escapes the job id %j in the path of a poll",
    (id) => {
      const url = provider.baseUrls[0] + provider.polls.path({ id, endpoint: endpointOf(polls) });

      expect(provider.polls.path({ id, endpoint: endpointOf(polls) })).toMatch(/^\//);
      expect(url).toContain(encodeURIComponent(id));
      expect(URL.parse(url)?.href).toBe(url);
    },
  );

  it.each(polls)("reads the answer to a poll: $name", (fixture) => {
    expect(meaningOfPoll(provider, fixture)).toEqual(fixture.means);
  });

  it("reads any JSON that answers a poll without throwing", () => {
    const answers = fixedAnswers(polls);
    const exchanges = fc.record({
      status: fc.constantFrom(200, 202, 400, 404, 422, 499),
      body: fc.oneof(anyJson, ...answers.map((answer) => damaged(answer.body))),
    });
    const job: Job = { id: polls[0]?.jobId ?? "job-1", endpoint: endpointOf(polls) };
    fc.assert(
      fc.property(fc.array(exchanges, { minLength: 1, maxLength: 4 }), (rounds) => {
        let { read } = provider.polls;
        for (const answer of rounds) {
          const reading = read(answer, job);
          if (reading.kind === "observed") expectSound(reading.observation);
          if (reading.kind !== "next") return;
          expect(reading.path).toMatch(/^\//);
          ({ read } = reading);
        }
      }),
      { numRuns: 400 },
    );
  });

  describe.runIf(adapter !== null)("for hooks", () => {
    it("has at least eight fixtures and one of every kind of meaning", () => {
      const kinds = new Set(hooks.map(({ means }) => kindOf(means)));

      expect(hooks.length).toBeGreaterThanOrEqual(8);
      expect([...kinds]).toEqual(
        expect.arrayContaining([
          "completed",
          "no_output",
          "moderation",
          "failure",
          null,
          "nothing",
        ]),
      );
    });

    it.each(hooks)("reads a hook: $name", (fixture) => {
      const observation = readHook(provider, fixture, parseJson(fixture.body));

      expect(observation?.jobId ?? null).toBe(fixture.jobId);
      expect(observation === null ? "nothing" : toNews(observation, ERROR_TEXT)).toEqual(
        fixture.means,
      );
    });

    it("reads any JSON in a hook without throwing", () => {
      const cases = hooks.map((fixture) =>
        fc.tuple(fc.constant(fixture), damaged(parseJson(fixture.body))),
      );
      fc.assert(
        fc.property(fc.oneof(...cases), ([fixture, body]) => {
          const observation = readHook(provider, fixture, body);
          if (observation !== null) expectSound(observation);
        }),
        { numRuns: 1000 },
      );
    });

    it("takes no fixture for a handshake, and looks for one in any JSON without throwing", () => {
      for (const { body } of hooks)
        expect(adapter?.preflight?.(parseJson(body)) ?? null).toBeNull();
      fc.assert(
        fc.property(anyJson, (body) => {
          const answer = adapter?.preflight?.(body) ?? null;
          expect(answer === null || typeof answer === "string").toBe(true);
        }),
      );
    });
  });
});

function providerNamed(name: string): UpstreamProvider {
  const provider = PROVIDERS.get(name);
  if (provider === undefined) throw new Error(`no provider is named "${name}"`);
  return provider;
}

function readHook(
  { name, hooks }: UpstreamProvider,
  { headers, body }: HookFixture,
  json: unknown,
): Observation | null {
  const hook = aHook(headers ?? {}, body, { path: `/hooks/${name}/task/token` });
  return hooks?.read(json, hook) ?? null;
}

function meaningOfPoll({ polls }: UpstreamProvider, fixture: PollFixture): unknown {
  const job: Job = { id: fixture.jobId, endpoint: fixture.endpoint ?? null };
  let { path, read } = { path: polls.path(job), read: polls.read };
  let reading: Reading | null = null;
  for (const exchange of fixture.exchanges) {
    if (reading !== null) {
      if (reading.kind !== "next") throw new Error(`the adapter did not request ${exchange.path}`);
      ({ path, read } = reading);
    }
    expect(path).toBe(exchange.path);
    reading = read(exchange.answer, job);
  }
  if (reading?.kind === "observed") return toNews(reading.observation, ERROR_TEXT);
  return reading?.kind;
}

/** Asserts what holds for every observation, whoever wrote the JSON. */
function expectSound(observation: Observation): void {
  const { jobId, state, completedAt } = observation;
  for (const text of [jobId, state]) expect(text === null || text !== "").toBe(true);
  expect(completedAt === null || Number.isFinite(completedAt)).toBe(true);
  const news = toNews(observation, ERROR_TEXT);
  if (news?.status === "failed") {
    expect(new TextEncoder().encode(news.error.message).length).toBeLessThanOrEqual(1024);
  }
  if (news?.status !== "completed") return;
  expect(news.urls.length).toBeGreaterThan(0);
  for (const url of news.urls) expect(URL.parse(url)?.protocol).toMatch(/^https?:$/);
  for (const [field, value] of Object.entries(news.metadata)) {
    expect([field, WIRE_TYPES[field]?.(value)]).toEqual([field, true]);
  }
}

function kindOf(means: HookFixture["means"]): string | null {
  if (means === null || means === "nothing") return means;
  if (means.status !== "failed") return means.status;
  return means.failure.category === "moderation" ? "moderation" : "failure";
}

function fixedAnswers(polls: readonly PollFixture[]) {
  return polls.flatMap(({ exchanges }) => exchanges.map(({ answer }) => answer));
}

function endpointOf(polls: readonly PollFixture[]): string | null {
  return polls.find(({ endpoint }) => endpoint !== undefined)?.endpoint ?? null;
}
