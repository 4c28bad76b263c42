import { describe, expect, it } from "vitest";
import { PROVIDERS } from "../../../src/providers/registry.ts";
import { DECLARATIONS } from "../declarations.ts";
import { type CorpusAdapter, corpusAdapter } from "../../../scripts/corpus/corpus-adapters.ts";
import { playBody } from "../../../scripts/corpus/play.ts";
import { type NamedBody, readBodies, STORED_FILES } from "./bodies.ts";
import { differencesOf } from "./differences.ts";
import { readingShapeOf, shapeOf } from "./shape.ts";

const BODIES = readBodies();
/** Names of the providers and declared upstreams that the documents offer. At Modal an app of the customer's own answers. */
const OFFERED = [...PROVIDERS.keys(), ...Object.keys(DECLARATIONS)].filter(
  (name) => name !== "modal",
);

/** Texts that no file of a corpus contains: keys, tokens, addresses of people, paths of a machine. */
const PRIVATE: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9]{12,}/,
  /\bAKIA[A-Z0-9]{12,}/,
  /\bAIza[\w-]{20,}/,
  /\beyJ[\w-]{20,}\./,
  /Bearer [\w-]{12,}/,
  /[\w.+-]+@[\w-]+\.(?!example)[a-z]{2,}/,
  /(?<![\w.:-])\/(?:home|Users|root|tmp|work)\/(?!ComfyUI)/,
];

it.each(PRIVATE)(
  "no file in a folder corpus, which has real bodies from a provider, contains a private text (key, token, address or local path) that matches %s",
  (pattern) => {
    const found = STORED_FILES.filter(({ text }) => pattern.test(text));
    expect(found.map(({ name }) => name)).toEqual([]);
  },
);

it.each(OFFERED)(
  "the folder corpus of %s, a provider that the documentation lists, has at least eight real bodies of hooks or answers",
  (name) => {
    expect(BODIES.filter(({ provider }) => provider === name).length).toBeGreaterThanOrEqual(8);
  },
);

describe.each([...new Set(BODIES.map(({ provider }) => provider))])(
  "the corpus of real bodies of %s",
  (provider) => {
    const bodies = BODIES.filter((each) => each.provider === provider);

    it(`each real body in the folder corpus of ${provider} is read with the result that the body's file states`, async () => {
      const wrong = await differencesIn(bodies);
      expect(Object.fromEntries(wrong.filter(([, lines]) => lines.length > 0))).toEqual({});
    });

    it(`a relay with a bucket copies each file that stands inside a real answer of ${provider}, unless the relay cannot get this answer again by GET`, async () => {
      const inline = bodies.filter(
        (each) => each.body.expect.inline === true && each.body.transport !== "answer",
      );
      const read = await Promise.all(inline.map(async (each) => [each.name, await keptIn(each)]));
      const expected = inline.map(({ name, body }) => [name, expectedOfKeeping(provider, body)]);
      expect(Object.fromEntries(read)).toEqual(Object.fromEntries(expected));
    });

    it(`the folder corpus of ${provider} has no two real bodies that have the same members, states and codes and are read alike`, () => {
      const shapes = Map.groupBy(bodies, ({ body }) => `${shapeOf(body)} ${readingShapeOf(body)}`);
      const repeated = [...shapes.values()].filter((alike) => alike.length > 1);
      expect(repeated.map((alike) => alike.map(({ name }) => name))).toEqual([]);
    });
  },
);

/** Says what a relay with a bucket makes of a body. */
async function keptIn({ provider, body }: NamedBody): Promise<string> {
  const { provider: adapter, baseUrl } = adapterOf(provider);
  const { status, urls = [], error } = await playBody(adapter, baseUrl, body, true);
  const isPlace = (url: string) => url.startsWith(baseUrl) && new URL(url).hash.startsWith("#/");
  if (status !== "completed") return error?.code ?? status;
  return urls.every(isPlace) ? "links to places in answers" : urls.join();
}

/** Says what a relay with a bucket should make of a body that has the output itself. */
function expectedOfKeeping(provider: string, { transport, job }: NamedBody["body"]): string {
  // A poll finds the file again that stands in a hook.
  if (transport === "hook") return "no_output";
  const { polls } = adapterOf(provider).provider;
  const isGet = polls.body?.({ id: job, endpoint: null }) === undefined;
  return isGet ? "links to places in answers" : "output_needs_store";
}

function adapterOf(provider: string): CorpusAdapter {
  const adapter = corpusAdapter(provider);
  if (adapter === null) throw new Error(`no adapter is named "${provider}"`);
  return adapter;
}

async function differencesIn(bodies: readonly NamedBody[]) {
  return Promise.all(
    bodies.map(async ({ name, provider, body }) => {
      const { provider: adapter, baseUrl } = adapterOf(provider);
      const reading = await playBody(adapter, baseUrl, body);
      return [name, differencesOf(body.expect, reading, baseUrl)] as const;
    }),
  );
}
