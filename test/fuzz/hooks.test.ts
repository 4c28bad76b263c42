import { describe } from "vitest";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { toNews } from "../../src/providers/observation.ts";
import type { Hook, HookAdapter } from "../../src/providers/provider.ts";
import type { Fixtures } from "../providers/fixture.ts";
import { FIXTURES } from "../providers/fixtures/index.ts";
import { aHook } from "../providers/hook.ts";
import { type Border, announce, fuzz } from "./fuzz.ts";
import { jsonBytes, mutated } from "./mutations.ts";
import { requireSoundNews } from "./news.ts";

announce("hooks of every provider");

const ERROR_TEXT = { isGeneric: false, secrets: ["sk-planted-secret"] };
const decoder = new TextDecoder();

interface HookCase {
  /** As the relay reads the body: undefined when it is no JSON. */
  readonly json: unknown;
  readonly hook: Hook;
}

/** Whatever is posted to a hook URL is understood, or not; and what is understood can be acted on. */
function reading({ provider, hooks }: Fixtures, adapter: HookAdapter): Border<HookCase> {
  const path = `/hooks/${provider}/task/token`;
  const valid = hooks.map(({ body, headers }) => ({
    json: jsonOf(body),
    hook: aHook(headers ?? {}, body, { path }),
  }));
  return {
    promise: `${provider}: reads any body without a throw, and only what a task can go on with`,
    cases: 100_000,
    generate: (choices) => {
      const { json, hook } = choices.pick(valid);
      const changed = mutated(json, choices);
      const isText = choices.chance(0.1);
      return { json: isText ? jsonOf(decoder.decode(jsonBytes(changed, choices))) : changed, hook };
    },
    check: ({ json, hook }) => {
      const handshake = adapter.preflight?.(json) ?? null;
      if (handshake !== null) requireHandshake(handshake);
      const observation = json === undefined ? null : adapter.read(json, hook);
      if (observation === null) return false;
      if (observation.jobId === "") throw new Error("the id of the job is empty");
      const news = toNews(observation, ERROR_TEXT);
      if (news !== null) requireSoundNews(news);
      return news !== null;
    },
  };
}

/** What is sent back must be JSON, and no more than what it answers. */
function requireHandshake(answer: string): void {
  const { challenge, ...others }: { challenge?: unknown } = JSON.parse(answer);
  const isEcho = typeof challenge === "string" && Object.keys(others).length === 0;
  if (!isEcho) throw new Error(`the handshake is answered with ${answer}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

describe("a hook of", () => {
  for (const fixtures of FIXTURES) {
    const adapter = PROVIDERS.get(fixtures.provider)?.hooks ?? null;
    if (adapter !== null) fuzz(reading(fixtures, adapter));
  }
});
