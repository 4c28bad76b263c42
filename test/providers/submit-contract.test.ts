import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/output-metadata/metadata.ts";
import { at } from "../../src/providers/json-fields.ts";
import { toNews } from "../../src/providers/observation.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import {
  jobReadingOf,
  type ModelPlace,
  type MemberValues,
  plainReadingOf,
  type SubmitAdapter,
  type SubmitReading,
  unreadableIn,
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

it("the tests have examples of the calls that start jobs for exactly those providers whose adapters describe such calls", () => {
  const described = [...ADAPTERS].filter(([, { submits }]) => submits !== undefined);
  const named = SUBMITTING.map(({ provider }) => provider);
  expect(named.toSorted()).toEqual(described.map(([name]) => name).toSorted());
});

describe.each(SUBMITTING)("submissions to $provider", ({ provider, submits }) => {
  const adapter = adapterOf(provider);
  const examples = submitExamplesIn(submits);
  const form = ADAPTERS.get(provider)?.jobCalls?.errorBody;

  it.each(submits.calls.map((call) => [call.path, call] as const))(
    `the model, the endpoint and the parameters of a documented call of ${provider} are read from where the call states them: POST %s`,
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

  it(`no call of ${provider} that takes a multipart body, which the relay does not read, has the model in its path or a hook URL in its query`, () => {
    const targets = submits.calls.map(({ path }) => adapter.target(path));
    const multipart = targets.filter((target) => target?.takesMultipart === true);
    const hookField = ADAPTERS.get(provider)?.hooks?.parameter ?? "";
    expect(multipart.some((target) => target !== null && "name" in target.model)).toBe(false);
    expect(multipart.length > 0 && hookField.startsWith("?")).toBe(false);
  });

  it.each(submits.calls.flatMap(({ path }) => damaged(path)))(
    `a POST to ${provider} at a damaged path does not count as a submission: %j`,
    (path) => {
      expect(adapter.target(path)).toBeNull();
    },
  );

  it.each(submits.otherPaths)(
    `a POST to ${provider} at a path that starts no job does not count as a submission: %s`,
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
    `an HTML page that ${provider} sends as the answer to a submission is not read as a job: POST %s`,
    (path) => {
      expect(meaningOf(adapter, path, 200, undefined)).toBe("unclear");
    },
  );

  it(`the tests have an example answer of ${provider} for each outcome of a submission (accepted, refused, outage, …), with the meaning that belongs to it`, () => {
    expect(kindsOf(submits)).toEqual({
      accepted: "job",
      result: "exempt" in submits.result ? "exempt" : "result",
      refused: expect.toBeOneOf(["funds", "key", "final"]),
      limited: expect.toBeOneOf(["busy", "rate", "funds"]),
      outage: "unclear",
      withoutId: "unclear",
    });
    if ("exempt" in submits.result) expect(submits.result.exempt).toMatch(/\.$/);
    const called = submits.calls.map(({ path }) => path);
    for (const { path } of examples) expect(called).toContain(path);
  });

  it(`the example answer of ${provider} for an outage has an HTTP status of 500 or more, and the examples with a job or a result have one below 300`, () => {
    expect(submits.outage.answer.status).toBeGreaterThanOrEqual(500);
    for (const { answer, means } of examples) {
      const isRead = typeof means === "object" && !("refused" in means);
      if (isRead) expect(answer.status).toBeLessThan(300);
    }
  });

  it(`an error of the relay in the JSON form of ${provider} contains the relay's message, and would not be taken for a job or a refusal of ${provider}`, () => {
    const { path } = submits.accepted;
    const body = form?.(503, "the text");
    expect(JSON.stringify(body)).toContain("the text");
    expect(meaningOf(adapter, path, 200, body)).toBeTypeOf("string");
  });
});

it.each(["", ".", "..", "\ud800", "x".repeat(513)])(
  "when the answer to a submission states the job id %j, which cannot be a segment of a URL for polls, the outcome of the submission counts as unclear",
  (id) => {
    expect(jobReadingOf(id, null)).toEqual({ kind: "unclear" });
  },
);

const BASE64 = { "/response_format": ["b64_json"] };
const STREAM = { "/stream": [true] };

it.each<[string, string, MemberValues, MemberValues]>([
  ["newapi", "/v1/images/generations", { ...BASE64, ...STREAM }, {}],
  ["openai-videos", "/v1/images/generations", { ...BASE64, ...STREAM }, {}],
  ["openai-videos", "/v1/chat/completions", STREAM, STREAM],
  ["newapi", "/v1/audio/speech", { "/stream_format": ["sse"] }, { "/stream_format": ["sse"] }],
  ["newapi", "/v1/responses", { "/background": [true] }, { "/background": [true] }],
  ["newapi", "/v1/images/edits", {}, {}],
  ["xai", "/v1/images/edits", BASE64, {}],
  ["ark", "/images/generations", { ...BASE64, ...STREAM }, STREAM],
  [
    "minimax",
    "/v1/image_generation",
    { "/response_format": ["base64"] },
    { "/response_format": ["base64"] },
  ],
])(
  "the adapter of %s lists, for submissions at %s, the values whose answer would be base64 or a stream in place of links, %j, and those that the relay cannot read even in a call that it makes itself, %j",
  (provider, path, passing, called) => {
    const target = adapterOf(provider).target(path);
    if (target === null) throw new Error(`${provider} has no target at ${path}`);
    expect([unreadableIn(target, false), unreadableIn(target, true)]).toEqual([passing, called]);
  },
);

it("only the paths whose answer would pass the relay as text or base64 need a call that the relay makes itself", () => {
  const needing = SUBMITTING.flatMap(({ provider, submits }) =>
    submits.calls.flatMap(({ path }) =>
      adapterOf(provider).target(path)?.needsCall === true ? `${provider} ${path}` : [],
    ),
  );
  const gateway = [
    "/v1/images/edits",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/chat/completions",
    "/v1/responses",
  ];
  expect(needing.toSorted()).toEqual(
    [
      "gemini /v1beta/models/gemini-3-pro-image:generateContent",
      ...gateway.flatMap((path) => [`newapi ${path}`, `openai-videos ${path}`]),
    ].toSorted(),
  );
});

it.each<[string, string, SubmitReading["kind"]]>([
  ["/v1/audio/speech", "audio/mpeg", "result"],
  ["/v1/audio/speech", "application/octet-stream", "result"],
  ["/v1/audio/speech", "text/plain", "unclear"],
  ["/v1/audio/speech", "text/html", "unclear"],
  ["/v1/audio/transcriptions", "text/plain", "result"],
  ["/v1/audio/transcriptions", "text/vtt", "result"],
  ["/v1/audio/transcriptions", "text/html", "unclear"],
  ["/v1/audio/transcriptions", "text/event-stream", "unclear"],
  ["/v1/audio/transcriptions", "audio/mpeg", "unclear"],
  ["/v1/chat/completions", "text/plain", "unclear"],
])(
  "an answer of a gateway at %s that is not JSON but of the type %s is read as: %s",
  (path, mediaType, kind) => {
    const target = adapterOf("newapi").target(path);
    if (target === null) throw new Error(`no target at ${path}`);
    expect(plainReadingOf(target, mediaType).kind).toBe(kind);
  },
);

it.each<[string, string, readonly string[]]>([
  ["newapi", "/v1/video/generations", ["/metadata"]],
  ["newapi", "/v1/videos", ["/metadata"]],
  ["newapi", "/kling/v1/videos/text2video", ["/metadata", "/model"]],
  ["openai-videos", "/v1/videos", ["/metadata"]],
  ["ark", "/contents/generations/tasks", ["/frames"]],
])(
  "a submission to %s at %s can have parameters of a Seedance model in the text of the prompt, and in these members: %j",
  (provider, path, pointers) => {
    const hidden = adapterOf(provider).target(path)?.hidden;
    expect(hidden?.pointers).toEqual(pointers);
    expect(hidden?.isHiddenIn?.(requestWith("a fox --dur 12"))).toBe(true);
    expect(hidden?.isHiddenIn?.(requestWith("a fox"))).toBe(false);
  },
);

it("a submission to replicate at the path of a model or a deployment can hide another model in its member version; a submission at /v1/predictions cannot", () => {
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
  "a submission to the reseller %s at %s can have parameters of a Seedance model in the text of the prompt, and in these members: %j",
  (provider, path, pointers) => {
    const hidden = adapterOf(provider).target(path)?.hidden;
    expect(hidden?.pointers).toEqual(pointers);
    expect(hidden?.isHiddenIn?.(requestWith("a fox --dur 12"))).toBe(true);
  },
);

it("the relay states the hook URL in options.callback_url to Kling's API of 2026, and in callback_url, outside of metadata, to Kling at a new-api gateway", () => {
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

it("a submission to dashscope for a video has the header X-DashScope-Async, without which no job starts; a submission for an image does not have it", () => {
  const { target } = adapterOf("dashscope");
  const services = "/api/v1/services/aigc";
  expect(target(`${services}/video-generation/video-synthesis`)?.headers).toEqual({
    "X-DashScope-Async": "enable",
  });
  expect(target(`${services}/multimodal-generation/generation`)?.headers).toBeUndefined();
});

it("the model and the time of submission are read from Ark's report on a job, so that the job of a submission whose answer was lost can be found", () => {
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

it("a submission to an openai-videos gateway contains the secret with which the gateway signs the job's hooks; other providers get no secret", () => {
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
  { refusal, readAnswer }: SubmitAdapter,
  path: string,
  status: number,
  body: unknown,
): SubmitMeaning | "named" {
  const refused = refusal(status, body);
  if (refused !== null) return { refused };
  if (status >= 300) return "unclear";
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
  if ("refused" in means) return `a refusal that the relay classifies as ${means.refused}`;
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

function kindOf({ means }: SubmitExample): string {
  if (typeof means === "string") return means;
  if ("refused" in means) return means.refused;
  return "result" in means ? "result" : "job";
}
