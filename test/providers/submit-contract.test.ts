import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/record/metadata.ts";
import { at } from "../../src/providers/json-fields.ts";
import { toNews } from "../../src/providers/observation.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import type { ModelPlace, SubmitAdapter } from "../../src/providers/submit.ts";
import { GATEWAY } from "./fixture.ts";
import { FIXTURES } from "./fixtures/index.ts";
import {
  type SubmitCall,
  submitExamplesIn,
  type SubmitFixture,
  type SubmitFixtures,
  type SubmitMeaning,
} from "./submit-fixture.ts";

const ERROR_TEXT = { isGeneric: false, secrets: [] };
const SUBMITTING = FIXTURES.flatMap(({ provider, submits }) =>
  submits === undefined ? [] : [{ provider, submits }],
);

it("exactly the providers whose adapters describe calls that start jobs have examples of such calls in the tests", () => {
  const described = [...PROVIDERS.values()].filter(({ submits }) => submits !== undefined);
  const named = SUBMITTING.map(({ provider }) => provider);
  expect(named.toSorted()).toEqual(described.map(({ name }) => name).toSorted());
});

describe.each(SUBMITTING)("submissions to $provider", ({ provider, submits }) => {
  const adapter = adapterOf(provider);
  const examples = submitExamplesIn(submits);

  it.each(submits.calls.map((call) => [call.path, call] as const))(
    `the model, the endpoint and the parameters of a documented call of ${provider} are read from where it states them: POST %s`,
    (path, call) => {
      const target = adapter.target(path);
      expect(target).toMatchObject({ endpoint: call.endpoint, answer: call.answer });
      expect(target?.takesMultipart ?? false).toBe(call.takesMultipart);
      expect(target === null ? null : modelIn(call, target.model)).toBe(call.model);
      const pointers = Object.entries(target?.parameters ?? {});
      const read = pointers.map(([name, pointer]) => [name, valueAt(call.body, pointer)]);
      expect(metadataOf(Object.fromEntries(read))).toEqual(call.metadata);
    },
  );

  it(`where ${provider} takes a multipart body, the path names no model and the query has no hook URL, because the relay reads neither for such a body`, () => {
    const targets = submits.calls.map(({ path }) => adapter.target(path));
    const multipart = targets.filter((target) => target?.takesMultipart === true);
    const hookField = PROVIDERS.get(provider)?.hooks?.parameter ?? "";
    expect(multipart.some((target) => target !== null && "name" in target.model)).toBe(false);
    expect(multipart.length > 0 && hookField.startsWith("?")).toBe(false);
  });

  it.each(submits.calls.flatMap(({ path }) => damaged(path)))(
    `a POST to ${provider} is no submission when its path is damaged: %j`,
    (path) => {
      expect(adapter.target(path)).toBeNull();
    },
  );

  it.each(submits.otherPaths)(
    `a POST to ${provider} is no submission at the path of something else, or where ${provider} has nothing: %s`,
    (path) => {
      expect(adapter.target(path)).toBeNull();
    },
  );

  it.each(examples.map((example) => [example.name, wordsFor(example.means), example] as const))(
    `an example answer of ${provider} to a submission (%s) is read as %s`,
    (_name, _words, { path, answer, means }) => {
      expect(meaningOf(adapter, path, answer.status, answer.body)).toEqual(means);
    },
  );

  it.each(submits.calls.map(({ path }) => path))(
    `an answer of ${provider} to a submission that is a page and no JSON is not taken for a job: POST %s`,
    (path) => {
      expect(meaningOf(adapter, path, 200, undefined)).toBe("unclear");
    },
  );

  it(`each example of an answer of ${provider} to a submission is what its name says, e.g. refused`, () => {
    expect(kindsOf(submits)).toEqual({
      accepted: "job",
      result: "exempt" in submits.result ? "exempt" : "result",
      refused: "refusal",
      limited: "limit",
      outage: "outage",
      withoutId: "unclear",
    });
    if ("exempt" in submits.result) expect(submits.result.exempt).toMatch(/\.$/);
    const called = submits.calls.map(({ path }) => path);
    for (const { path } of examples) expect(called).toContain(path);
  });

  it(`answers of ${provider} that are decided by their status are those of a status from 400 on, and all others are read`, () => {
    for (const { answer, means } of examples) {
      const isRead = means !== "decided by its status" && means !== "refused by its body";
      expect(answer.status < 300).toBe(isRead);
      if (!isRead) expect(answer.status).toBeGreaterThanOrEqual(400);
    }
  });
});

it.each(["newapi", "openai-videos"])(
  "a call of %s for images must not ask for base64 or a stream, whose answers have no links",
  (provider) => {
    expect(adapterOf(provider).target("/v1/images/generations")?.unreadable).toEqual({
      "/response_format": ["b64_json"],
      "/stream": [true],
    });
  },
);

it.each<[string, string, readonly string[]]>([
  ["newapi", "/v1/video/generations", ["/metadata"]],
  ["newapi", "/v1/videos", ["/metadata"]],
  ["openai-videos", "/v1/videos", ["/metadata"]],
  ["ark", "/contents/generations/tasks", ["/frames"]],
])(
  "a call of %s to %s can have parameters in the prompt of a Seedance model, and in these members: %j",
  (provider, path, pointers) => {
    const hidden = adapterOf(provider).target(path)?.hidden;
    expect(hidden?.pointers).toEqual(pointers);
    expect(hidden?.isHiddenIn?.(requestWith("a fox --dur 12"))).toBe(true);
    expect(hidden?.isHiddenIn?.(requestWith("a fox"))).toBe(false);
  },
);

it("a call of replicate whose path names the model can name another one in the member version, unlike a call for a version", () => {
  const { target } = adapterOf("replicate");
  const hidden = { isHiddenIn: null, pointers: ["/version"] };
  expect(target("/v1/models/bytedance/seedance-1-pro/predictions")?.hidden).toEqual(hidden);
  expect(target("/v1/deployments/acme/seedance/predictions")?.hidden).toEqual(hidden);
  expect(target("/v1/predictions")?.hidden).toBeUndefined();
});

it("a report of Ark states the model of a job and the time at which it was submitted, by which a submission with a lost answer finds its job", () => {
  const task = { id: "cgt-1", model: "doubao-seedance-2-0-260128", created_at: 1767225600 };
  const [dated, bare] = [task, { id: "cgt-1" }].map((body) =>
    PROVIDERS.get("ark")?.polls.read({ status: 200, body }, { id: "cgt-1", endpoint: null }, ""),
  );
  expect(dated).toMatchObject({
    observation: { model: "doubao-seedance-2-0-260128", submittedAt: 1767225600000 },
  });
  expect(bare).toMatchObject({ observation: { model: null, submittedAt: null } });
});

it("the secret with which an openai-videos gateway signs the hooks of a job is sent with the job, and that of no other provider", () => {
  const named = [...PROVIDERS.values()].flatMap(({ name, hooks }) =>
    hooks?.secretParameter === undefined ? [] : [[name, hooks.secretParameter]],
  );
  expect(named).toEqual([["openai-videos", "callback_secret"]]);
});

function requestWith(prompt: string): string {
  return JSON.stringify({ content: [{ type: "text", text: prompt }] });
}

function adapterOf(name: string): SubmitAdapter {
  const submits = PROVIDERS.get(name)?.submits;
  if (submits === undefined) throw new Error(`"${name}" describes no calls that start jobs`);
  return submits;
}

function modelIn({ body }: SubmitCall, place: ModelPlace): JsonValue {
  return "name" in place ? place.name : valueAt(body, place.pointer);
}

/** Returns the value at a JSON Pointer; null when there is none. */
function valueAt(body: JsonValue, pointer: string): JsonValue {
  const [root, ...names] = pointer.split("/");
  if (root !== "") throw new Error(`"${pointer}" is no pointer`);
  const found = at(body, ...names);
  const isScalar =
    typeof found === "string" || typeof found === "number" || typeof found === "boolean";
  return isScalar ? found : null;
}

/** Returns paths that a server could take for the path or for one of something else, and that no client writes. */
function damaged(path: string): readonly string[] {
  const after = ["/", "/.", "/..", "/../x", "/%2e%2e", "%2F..", "?a=b", "#a", ";a=b", "\\..", " "];
  const before = ["/", "/..", "/.", " ", "https://a.example"];
  const inside = [path.slice(1), path.replace("/", "//"), path.replace(/\/(?=[^/]+$)/, "/../")];
  const added = [...after, "\n", "\u0000", "\ud800"].map((text) => `${path}${text}`);
  return [...added, ...before.map((text) => `${text}${path}`), ...inside, "", "/"];
}

function meaningOf(
  { refuses, readAnswer }: SubmitAdapter,
  path: string,
  status: number,
  body: unknown,
): SubmitMeaning {
  if (status >= 300) {
    return refuses?.(status, body) === true ? "refused by its body" : "decided by its status";
  }
  const reading = readAnswer(body, path, GATEWAY);
  if (reading.kind === "unclear") return "unclear";
  if (reading.kind === "job") return { job: reading.job };
  const result = toNews(reading.observation, ERROR_TEXT);
  if (result === null) throw new Error("the result has an unknown state");
  return { job: reading.job, result };
}

/** Describes the meaning of an example in words, for a title. */
function wordsFor(means: SubmitMeaning): string {
  if (means === "unclear") return "an answer that leaves open whether a job was started";
  if (typeof means === "string") return `an answer that is ${means}`;
  if (!("result" in means)) return "the start of a job";
  return means.result.status === "no_output" ? "a result without output" : "a result";
}

/** Names each example by its meaning and its status. */
function kindsOf({ accepted, result, refused, limited, outage, withoutId }: SubmitFixtures) {
  return {
    accepted: kindOf(accepted),
    result: "exempt" in result ? "exempt" : kindOf(result),
    refused: kindOf(refused),
    limited: kindOf(limited),
    outage: kindOf(outage),
    withoutId: kindOf(withoutId),
  };
}

function kindOf({ answer: { status }, means }: SubmitFixture): string {
  if (typeof means === "object") return "result" in means ? "result" : "job";
  if (means !== "decided by its status") return means;
  if (status === 429) return "limit";
  return status < 500 ? "refusal" : "outage";
}
