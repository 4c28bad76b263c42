import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/output-metadata/metadata.ts";
import { at } from "../../src/providers/json-fields.ts";
import { toNews } from "../../src/providers/observation.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import {
  jobReadingOf,
  type ModelPlace,
  type SubmitAdapter,
  type SubmitTarget,
} from "../../src/providers/submit.ts";
import { ADAPTERS } from "./adapters.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, submitExamplesIn } from "./examples.ts";
import type {
  SubmitCall,
  SubmitExample,
  SubmitExamples,
  SubmitMeaning,
} from "../../src/providers/shared/examples/submit-examples.ts";
import { anAnswer } from "./answer.ts";

const ERROR_TEXT = { isGeneric: false, secrets: [] };
const SUBMITTING = EXAMPLES.flatMap(({ provider, submits }) =>
  submits === undefined ? [] : [{ provider, submits }],
);

it("exactly the providers whose adapters describe calls that start jobs have examples of such calls in the tests", () => {
  const described = [...ADAPTERS].filter(([, { submits }]) => submits !== undefined);
  const named = SUBMITTING.map(({ provider }) => provider);
  expect(named.toSorted()).toEqual(described.map(([name]) => name).toSorted());
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
    const hookField = ADAPTERS.get(provider)?.hooks?.parameter ?? "";
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
      const read = meaningOf(adapter, path, answer.status, answer.body);
      if (typeof means === "object" && "namedJob" in means) {
        const call = submits.calls.find((each) => each.path === path);
        const pointer = adapter.target(path)?.jobId ?? "";
        expect([read, call && valueAt(call.body, pointer)]).toEqual(["named", means.namedJob]);
      } else {
        expect(read).toEqual(means);
      }
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
      refused: expect.toBeOneOf(["refusal", "refused by its body"]),
      limited: expect.toBeOneOf(["limit", "refused by its body"]),
      outage: "outage",
      withoutId: "unclear",
    });
    if ("exempt" in submits.result) expect(submits.result.exempt).toMatch(/\.$/);
    const called = submits.calls.map(({ path }) => path);
    for (const { path } of examples) expect(called).toContain(path);
  });

  it(`answers of ${provider} that are decided by their status are those of a status from 400 on, and all others are read`, () => {
    for (const { answer, means } of examples) {
      if (means === "decided by its status") expect(answer.status).toBeGreaterThanOrEqual(400);
      else if (means !== "refused by its body") expect(answer.status).toBeLessThan(300);
    }
  });
});

it.each(["", ".", "..", "\ud800", "x".repeat(513)])(
  "an answer to a submission with the id %j, which no URL of a poll can have as a segment, names no job",
  (id) => {
    expect(jobReadingOf(id, null)).toEqual({ kind: "unclear" });
  },
);

it.each<[string, string, SubmitTarget["unreadable"]]>([
  ["newapi", "/v1/images/generations", { "/response_format": ["b64_json"], "/stream": [true] }],
  [
    "openai-videos",
    "/v1/images/generations",
    { "/response_format": ["b64_json"], "/stream": [true] },
  ],
  ["xai", "/v1/images/edits", { "/response_format": ["b64_json"] }],
  ["minimax", "/v1/image_generation", { "/response_format": ["base64"] }],
  ["atlascloud", "/api/v1/model/generateImage", { "/enable_base64_output": [true] }],
  ["wavespeed", "/api/v3/google/veo3", { "/enable_base64_output": [true] }],
])(
  "a call of %s to %s must not ask for base64 or a stream, whose answers have no links: %j",
  (provider, path, unreadable) => {
    expect(adapterOf(provider).target(path)?.unreadable).toEqual(unreadable);
  },
);

it.each<[string, string, readonly string[]]>([
  ["newapi", "/v1/video/generations", ["/metadata"]],
  ["newapi", "/v1/videos", ["/metadata"]],
  ["newapi", "/kling/v1/videos/text2video", ["/metadata", "/model"]],
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

it.each<[string, string, readonly string[]]>([
  ["kie", "/api/v1/jobs/createTask", []],
  ["atlascloud", "/api/v1/model/generateVideo", []],
  ["wavespeed", "/api/v3/bytedance/seedance-v1-pro-t2v-720p", []],
  ["openrouter", "/api/v1/videos", ["/provider"]],
  ["higgsfield", "/bytedance/seedance/v1/pro/image-to-video", []],
])(
  "a call of the reseller %s to %s can have parameters in the prompt of a Seedance model, and in these members: %j",
  (provider, path, pointers) => {
    const hidden = adapterOf(provider).target(path)?.hidden;
    expect(hidden?.pointers).toEqual(pointers);
    expect(hidden?.isHiddenIn?.(requestWith("a fox --dur 12"))).toBe(true);
  },
);

it("a call of the Kling API of 2026 has the hook fields in the object options, and one at a new-api gateway has the hook URL outside of metadata", () => {
  const kling = adapterOf("kling");
  expect(kling.target("/omni-video/kling-3.0-omni")?.hookParameters).toEqual({
    parameter: "options.callback_url",
    idParameter: "options.external_task_id",
  });
  expect(kling.target("/v1/videos/omni-video")?.hookParameters).toBeUndefined();
  const newapi = adapterOf("newapi");
  expect(newapi.target("/kling/v1/videos/text2video")?.hookParameters).toEqual({
    parameter: "callback_url",
    idParameter: null,
  });
});

it("jobs of dashscope are asked for with the header X-DashScope-Async, without which Model Studio starts none, and images at once without it", () => {
  const { target } = adapterOf("dashscope");
  const services = "/api/v1/services/aigc";
  expect(target(`${services}/video-generation/video-synthesis`)?.headers).toEqual({
    "X-DashScope-Async": "enable",
  });
  expect(target(`${services}/multimodal-generation/generation`)?.headers).toBeUndefined();
});

it("a report of Ark states the model of a job and the time at which it was submitted, by which a submission with a lost answer finds its job", () => {
  const task = { id: "cgt-1", model: "doubao-seedance-2-0-260128", created_at: 1767225600 };
  const [dated, bare] = [task, { id: "cgt-1" }].map((body) =>
    PROVIDERS.get("ark")?.polls.read(
      anAnswer({ status: 200, body }),
      { id: "cgt-1", endpoint: null },
      "",
    ),
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
  const submits = ADAPTERS.get(name)?.submits;
  if (submits === undefined) throw new Error(`"${name}" describes no calls that start jobs`);
  return submits;
}

function modelIn({ body }: SubmitCall, place: ModelPlace): JsonValue {
  return "name" in place ? place.name : (valueAt(body, place.pointer) ?? place.otherwise ?? null);
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
): SubmitMeaning | "named" {
  if (refuses?.(status, body) === true) return "refused by its body";
  if (status >= 300) return "decided by its status";
  const reading = readAnswer(body, path, GATEWAY);
  if (reading.kind === "unclear" || reading.kind === "named") return reading.kind;
  if (reading.kind === "job") return { job: reading.job };
  const result = toNews(reading.observation, ERROR_TEXT);
  if (result === null) throw new Error("the result has an unknown state");
  return { job: reading.job, result };
}

/** Describes the meaning of an example in words, for a title. */
function wordsFor(means: SubmitMeaning): string {
  if (means === "unclear") return "an answer that leaves open whether a job was started";
  if (typeof means === "string") return `an answer that is ${means}`;
  if ("namedJob" in means) return "the start of the job that the call names";
  if (!("result" in means)) return "the start of a job";
  return means.result.status === "no_output" ? "a result without output" : "a result";
}

/** Names each example by its meaning and its status. */
function kindsOf({ accepted, result, refused, limited, outage, withoutId }: SubmitExamples) {
  return {
    accepted: kindOf(accepted),
    result: "exempt" in result ? "exempt" : kindOf(result),
    refused: kindOf(refused),
    limited: kindOf(limited),
    outage: kindOf(outage),
    withoutId: kindOf(withoutId),
  };
}

function kindOf({ answer: { status }, means }: SubmitExample): string {
  if (typeof means === "object") return "result" in means ? "result" : "job";
  if (means !== "decided by its status") return means;
  if (status === 429) return "limit";
  return status < 500 ? "refusal" : "outage";
}
