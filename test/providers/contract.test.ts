import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/core/json.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { toNews } from "../../src/providers/observation.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { hostileValue } from "../fuzz/hostile.ts";
import { mutated } from "../fuzz/mutations.ts";
import { requireSound } from "../fuzz/news.ts";
import { ADAPTERS, baseUrlIn, DECLARED } from "./adapters.ts";
import {
  GATEWAY,
  type HookExample,
  type PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, examplesIn, MEANINGS } from "./examples.ts";
import { readHook, readPoll } from "./readings.ts";
import { anAnswer } from "./answer.ts";

const ERROR_TEXT = { isGeneric: false, secrets: [] };

it("every provider is registered under its own name, and the tests have example answers of every provider and of every upstream with a declaration in the documents", () => {
  const names = [...PROVIDERS.values()].map(({ name }) => name);
  const named = EXAMPLES.map((examples) => examples.provider);
  expect(names).toEqual([...PROVIDERS.keys()]);
  expect(named.toSorted()).toEqual([...names, ...DECLARED.keys()].toSorted());
});

describe.each(EXAMPLES)("the adapter of $provider", (examples) => {
  const { provider: name } = examples;
  const [hooks, polls] = [examplesIn(examples.hooks), examplesIn(examples.polls)];
  const provider = providerNamed(name);
  const { hooks: adapter } = provider;

  it(`the adapter of ${name} has only https base URLs without a final slash, query or fragment`, () => {
    for (const baseUrl of provider.baseUrls ?? []) {
      expect(baseUrl).toMatch(/^https:\/\/[a-z0-9.-]+(\/[\w.-]+)*$/);
      expect(URL.canParse(baseUrl)).toBe(true);
    }
  });

  it.each(["../x", "a?b", "a#b", "a/b", "a/../b==", "a%2Fb", "a&b=c", "ä b"])(
    `a poll of ${name} escapes the job id %j in its path or body`,
    (id) => {
      const job = { id, endpoint: endpointOf(polls) };
      const url = baseUrlIn(name, GATEWAY) + provider.polls.path(job);
      expect(provider.polls.path(job)).toMatch(/^\//);
      const { body } = provider.polls;
      if (body === undefined) expect(url).toContain(encodeURIComponent(id));
      else expect(JSON.stringify(body(job))).toContain(JSON.stringify(id));
      expect(URL.parse(url)?.href).toBe(url);
    },
  );

  it.each(polls.map((example) => [example.name, wordsFor(example.means), example] as const))(
    `an example answer of ${name} to a poll (%s) is read as this report on its job: %s`,
    (_name, _kind, example) => {
      expect(meaningOfPoll(provider, example)).toEqual(example.means);
    },
  );

  it.each([
    ["an answer to a poll", examples.polls],
    ["a hook", examples.hooks],
  ])(
    `for each state of a job, the tests have an example of %s of ${name} that is read as this state, or a reason why there is none`,
    (_, reports) => {
      const { others: _others, ...named } = reports ?? { others: [] };
      const kinds = Object.entries(named).map(([kind, example]) => [
        kind,
        "exempt" in example ? kind : kindOf(example.means),
      ]);
      expect(kinds).toEqual(kinds.map(([kind]) => [kind, kind]));
      for (const example of Object.values(named)) {
        if ("exempt" in example) expect(example.exempt).toMatch(/\.$/);
      }
    },
  );

  it(`a report of ${name} that names the state of a job with an unknown word does not end the task, whatever else it contains`, () => {
    const answers = polls.flatMap(({ exchanges, means, ...example }) => {
      const renamed = exchanges.slice(0, 1).flatMap((exchange) => {
        const body = withUnknownState(exchange.answer.body);
        return body === null ? [] : [{ ...exchange, answer: { ...exchange.answer, body } }];
      });
      // The error code alone ends the task: the report has no word for the state.
      if (renamed.length === 0 || isEndedByError(name, means)) return [];
      return [meaningOfPoll(provider, { ...example, means, exchanges: renamed })];
    });
    const reports = hooks.flatMap((example) => {
      const json = withUnknownState(parseJson(example.body));
      const observation = json === null ? null : readHook(provider, example, json);
      if (observation === null || isEndedByError(name, example.means)) return [];
      return [toNews(observation, ERROR_TEXT)];
    });
    expect(answers.length).toBeGreaterThan(0);
    expect([...answers, ...reports].filter(isNews)).toEqual([]);
  });

  it(`reading any JSON as an answer of ${name} to a poll never throws, and gives a valid report on the job or none`, () => {
    const answers = fc.record({
      status: fc.constantFrom(200, 202, 302, 400, 403, 404, 422, 429, 499, 503),
      body: fc.oneof(hostileValue, mutated(bodiesOf(polls))),
    });
    const job: Job = { id: polls[0]?.jobId ?? "job-1", endpoint: endpointOf(polls) };
    fc.assert(
      fc.property(fc.array(answers, { minLength: 1, maxLength: 4 }), (rounds) => {
        let { read } = provider.polls;
        for (const answer of rounds) {
          const reading = read(anAnswer(answer), job, GATEWAY);
          if (reading.kind === "observed") requireSound(reading.observation);
          if (reading.kind !== "next") return;
          expect(reading.path).toMatch(/^\//);
          ({ read } = reading);
        }
      }),
      { seed: 20_261_121, numRuns: 400 },
    );
  });

  describe.runIf(adapter !== null)("for hooks", () => {
    it.each(hooks.map((example) => [example.name, wordsFor(example.means), example] as const))(
      `an example hook of ${name} (%s) is read as this report on its job: %s`,
      (_name, _kind, example) => {
        const observation = readHook(provider, example);
        expect(observation?.jobId ?? null).toBe(example.jobId);
        expect(observation === null ? "nothing" : toNews(observation, ERROR_TEXT)).toEqual(
          example.means,
        );
      },
    );

    it(`no example hook of ${name} is taken for a handshake, a request whose challenge the relay would have to echo`, () => {
      const answers = hooks.map(({ body }) => adapter?.preflight?.(parseJson(body)) ?? null);
      expect(answers.filter((answer) => answer !== null)).toEqual([]);
    });
  });
});

function providerNamed(name: string): UpstreamProvider {
  const provider = ADAPTERS.get(name);
  if (provider === undefined) throw new Error(`no provider is named "${name}"`);
  return provider;
}

function meaningOfPoll(provider: UpstreamProvider, example: PollExample): unknown {
  const reading = readPoll(provider, example);
  if (reading?.kind === "observed") return toNews(reading.observation, ERROR_TEXT);
  if (reading?.kind === "unclear" && reading.word != null) return `unclear: ${reading.word}`;
  return reading?.kind;
}

/** Describes the meaning of an example in words, for a title. */
function wordsFor(means: HookExample["means"] | PollExample["means"]): string {
  const kind = kindOf(means);
  const word = /^unclear: (.+)$/.exec(kind)?.[1];
  if (word !== undefined) return `an answer that is not understood, with the word ${word}`;
  return MEANINGS.get(kind) ?? kind;
}

function kindOf(means: HookExample["means"] | PollExample["means"]): string {
  if (means === null) return "unknownState";
  if (means === "nothing") return "unreadable";
  if (typeof means === "string") return means;
  switch (means.status) {
    case "completed":
      return "success";
    case "no_output":
      return "noOutput";
    case "queued":
    case "processing":
      return "running";
    case "failed":
      return means.failure.category === "moderation" ? "moderation" : "failure";
  }
}

/** Tells whether a report may end its task by its error alone: one of moderation, and of Runware any failure. */
function isEndedByError(provider: string, means: HookExample["means"] | PollExample["means"]) {
  const kind = kindOf(means);
  return kind === "moderation" || (kind === "failure" && provider === "runware");
}

/** Tells whether an example or report means a status of the task: not so an answer that was not understood. */
function isNews(means: unknown): boolean {
  return typeof means === "object" && means !== null;
}

/** Replaces the words for states in a report by one that no provider uses; null when it has none. */
function withUnknownState(body: unknown): unknown {
  if (body === undefined) return null;
  const text = JSON.stringify(body, (key, value: unknown) => {
    if (typeof value !== "string") return value;
    return /^(status|state|task_status|callbackType)$/.test(key)
      ? "pondering"
      : value.replace(/^video\.generation\.\w+$/, "video.generation.pondering");
  });
  return text.includes("pondering") ? parseJson(text) : null;
}

function bodiesOf(polls: readonly PollExample[]): readonly unknown[] {
  return polls.flatMap(({ exchanges }) => exchanges.map(({ answer }) => answer.body));
}

function endpointOf(polls: readonly PollExample[]): string | null {
  return polls.find(({ endpoint }) => endpoint !== undefined)?.endpoint ?? null;
}
