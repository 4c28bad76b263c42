import { describe, expect, it } from "vitest";
import { parseJson } from "../../../src/core/json.ts";
import { bodyFor, pathFor, pathFrom } from "../../../src/providers/generic/call-template.ts";
import { valuesOf } from "../../../src/providers/generic/declared-reports.ts";
import { findAll, findFirst } from "../../../src/providers/generic/json-pointer.ts";
import { toNews } from "../../../src/providers/observation.ts";
import type { RefusalClass } from "../../../src/core/record/refusal.ts";
import type { Job } from "../../../src/core/record/upstream.ts";
import { readPollAnswer } from "../../../src/providers/poll-answer.ts";
import { declared } from "../adapters.ts";
import { aHook } from "../hook.ts";
import { DECLARATIONS } from "../declarations.ts";
import { anAnswer } from "../answer.ts";

const BASE = "https://comfy.example.com";
const JOB: Job = { id: "job-1", endpoint: null };
const ERROR_TEXT = { isGeneric: false, secrets: [] };

const COMFY = {
  provider: "generic",
  base_url: BASE,
  submit: { path: "/prompt", id: "/prompt_id" },
  poll: {
    path: "/history/{id}",
    state: "/{id}/status/status_str",
    otherwise: "processing",
    outputs: [
      {
        at: "/{id}/outputs/*/images/*",
        url: "/view?filename={filename}&subfolder={subfolder}&type={type}",
      },
    ],
    progress: { at: "/progress", full: 1 },
  },
};

it.each<[string, string | null, unknown]>([
  ["/a/b", null, [{ pointer: "/a/b", value: 1 }]],
  ["/list/0", null, [{ pointer: "/list/0", value: "x" }]],
  ["/list/length", null, []],
  [
    "/list/*",
    null,
    [
      { pointer: "/list/0", value: "x" },
      { pointer: "/list/1", value: null },
    ],
  ],
  ["/a~1b/~0", null, [{ pointer: "/a~1b/~0", value: 2 }]],
  ["/*/b", null, [{ pointer: "/a/b", value: 1 }]],
  ["/{id}/*", "a", [{ pointer: "/a/b", value: 1 }]],
  ["/{id}", null, []],
  ["/toString", null, []],
  ["/a/b/c", null, []],
  ["/", null, [{ pointer: "/", value: 3 }]],
])(
  "the JSON Pointer %s of a declaration finds in an answer exactly the values to which it leads (for the job %s)",
  (pointer, id, found) => {
    const body = { a: { b: 1 }, list: ["x", null], "a/b": { "~": 2 }, "": 3 };
    expect(findAll(body, pointer, id)).toEqual(found);
  },
);

it("when an upstream's declaration has several JSON Pointers for a value, the first that leads to something other than null counts", () => {
  const body = { a: null, b: ["", 2] };
  expect(findFirst(body, ["/a", "/c", "/b/*"], null)).toEqual(["", 2]);
  expect(findFirst(body, ["/a"], null)).toEqual([]);
});

it("a JSON Pointer of an upstream's declaration finds at most 2,000 values in an answer", () => {
  const body = Array.from({ length: 3_000 }, () => [1, 2]);
  expect(findAll(body, "/*/*", null)).toHaveLength(2_000);
});

it.each([
  ["a/b?c#d", "/jobs/a%2Fb%3Fc%23d"],
  ["..", "/jobs/%252E%252E"],
  [".", "/jobs/%252E"],
  ["$&", "/jobs/%24%26"],
])(
  "the job id %j is encoded so that it stays within one segment of the path that a declaration states for a call",
  (id, path) => {
    expect(pathFor("/jobs/{id}", id)).toBe(path);
    expect(URL.parse(`${BASE}${path}`)?.pathname).toBe(path);
  },
);

it("a job id adds no members to the JSON body that a declaration states for a call, whatever characters the id has", () => {
  const id = '", "admin": true, "$&';
  const template = { tasks: [{ uuid: "{id}", note: "job {id}, {id}" }], "{id}": 1 };
  const body = bodyFor(template, id);
  expect(body).toEqual({ tasks: [{ uuid: id, note: `job ${id}, ${id}` }], "{id}": 1 });
  expect(parseJson(JSON.stringify(body))).toEqual(body);
});

it("when a declaration builds the path of a link from members of an answer, the members are encoded, and there is no path when one of them is missing", () => {
  const value = { filename: "a b&type=x.png", subfolder: "", n: 2 };
  const path = "/view?filename={filename}&sub={subfolder}&n={n}";
  expect(pathFrom(path, value)).toBe("/view?filename=a%20b%26type%3Dx.png&sub=&n=2");
  expect(pathFrom("/{filename}/{type}", value)).toBeNull();
  expect(pathFrom("/files/{filename}", { filename: ".." })).toBe("/files/%252E%252E");
});

it("by the declaration of a ComfyUI server, an empty answer means that the job still runs, and the links to outputs are built from members of the answer", () => {
  const { polls } = declared("comfy", COMFY);
  const read = (body: unknown, status = 200) => {
    const reading = readPollAnswer(polls, anAnswer({ status, body }), JOB, BASE);
    return reading.kind === "observed" ? toNews(reading.observation, ERROR_TEXT) : reading;
  };
  const image = { filename: "ComfyUI_00001_.png", subfolder: "", type: "output" };
  const outputs = { 9: { images: [image] } };
  expect(read({})).toEqual({ status: "processing" });
  expect(read({ "job-1": { status: { status_str: "success" }, outputs } })).toMatchObject({
    status: "completed",
    urls: [`${BASE}/view?filename=ComfyUI_00001_.png&subfolder=&type=output`],
  });
  expect(read({ "job-1": { status: { status_str: "error" }, outputs: {} } })).toMatchObject({
    status: "failed",
  });
  expect(read({ "job-1": { status: { status_str: "pondering" }, outputs } })).toBeNull();
  expect(read(undefined)).toEqual({ kind: "unclear" });
  expect(read({}, 404)).toMatchObject({ kind: "unclear" });
});

it("the member path_url of a declaration makes links of texts that are relative paths of files, and of nothing else", () => {
  const output = {
    at: "/o/*",
    url: "/view?filename={filename}",
    path_url: "/view?filename={name}&subfolder={folder}",
  };
  const links = (...values: readonly unknown[]) =>
    valuesOf(output, { o: values }, null, BASE).map(({ value }) => value);
  expect(links("a b/c/mesh 1.glb", "x.png")).toEqual([
    `${BASE}/view?filename=mesh%201.glb&subfolder=a%20b%2Fc`,
    `${BASE}/view?filename=x.png&subfolder=`,
  ]);
  expect(links("x.png", { filename: "y.png" })).toEqual([`${BASE}/view?filename=y.png`]);
  expect(links("/srv/x.png", "C:\\x.png", "C:/x.png", "../x.png", "a/../x.png")).toEqual([]);
  expect(links("a cat", "model v1.5", "model.safetensors", "https://a.example/x.png")).toEqual([]);
});

it("an upstream whose declaration has no member auth needs no key, and polls of it contain no credentials", async () => {
  const { polls } = declared("comfy", COMFY);
  expect(polls.takesNoKey).toBe(true);
  expect(await polls.headers("", 0)).toEqual({});
});

/** Returns the polls of a connection with this header for the key. */
function pollsWith(auth: string) {
  return declared("a", { ...COMFY, key: "k", auth, headers: { "X-Version": "2" } }).polls;
}

it("a declaration's member auth names the header and the scheme of the key, also for customers' keys, and the headers in its member headers are sent with each poll", async () => {
  const bearer = pollsWith("Authorization: Bearer {key}");
  expect(await bearer.headers("k", 0)).toEqual({ "X-Version": "2", Authorization: "Bearer k" });
  expect(bearer.keyHeader).toEqual({ name: "Authorization", schemes: ["Bearer"] });
  const alone = pollsWith("x-api-key: {key}");
  expect(await alone.headers("k", 0)).toEqual({ "X-Version": "2", "x-api-key": "k" });
  expect(alone.keyHeader).toEqual({ name: "x-api-key", schemes: [] });
});

it("a declaration may read the state of a job from the HTTP status of an answer; a status that the declaration does not list fails no task", () => {
  const { polls } = declared("modal", {
    ...COMFY,
    poll: { path: "/result/{id}", state: "http_status", outputs: ["/url"] },
    words: { 200: "completed", 202: "processing", 404: "failed" },
  });
  const read = (status: number, body: unknown = {}) => {
    const reading = readPollAnswer(polls, anAnswer({ status, body }), JOB, BASE);
    return reading.kind === "observed" ? toNews(reading.observation, ERROR_TEXT) : reading;
  };
  expect(read(202)).toEqual({ status: "processing" });
  expect(read(200, { url: `${BASE}/a.mp4` })).toMatchObject({ urls: [`${BASE}/a.mp4`] });
  expect(read(404)).toMatchObject({ status: "failed" });
  expect(read(500)).toMatchObject({ kind: "unclear" });
  expect(read(204)).toMatchObject({ kind: "unclear", word: "204" });
  expect(read(401)).toEqual({ kind: "unauthorized" });
  expect(read(429)).toEqual({ kind: "limited" });
});

it("a declaration's own words for states, in upper or lower case, take precedence over those that the relay knows, and may mean a refusal by moderation", () => {
  const { polls } = declared("a", {
    ...COMFY,
    poll: { ...COMFY.poll, state: "/state", outputs: ["/urls/*"] },
    words: { Done: "processing", "In Review": "moderated", stopped: "canceled" },
  });
  const read = (state: unknown) => {
    const reading = readPollAnswer(polls, anAnswer({ status: 200, body: { state } }), JOB, BASE);
    return reading.kind === "observed" ? toNews(reading.observation, ERROR_TEXT) : reading;
  };
  expect(read("DONE")).toEqual({ status: "processing" });
  expect(read("in_review")).toMatchObject({ failure: { category: "moderation" } });
  expect(read("stopped")).toMatchObject({ failure: { category: "canceled" } });
  expect(read("FAILED")).toMatchObject({ status: "failed" });
  expect(read(true)).toBeNull();
});

it("relative links in the answer of an upstream with a declaration lead to the connection's host, and need its key if the declaration says that outputs do", () => {
  const { polls, needsKey } = declared("a", {
    ...COMFY,
    outputs_need_key: true,
    poll: { ...COMFY.poll, state: "/state", outputs: ["/urls/*"] },
  });
  const other = "https://cdn.example.com/b.mp4";
  const body = { state: "done", urls: ["/files/a.mp4", other, "//evil.example/c.mp4", "x", 7] };
  const reading = readPollAnswer(polls, anAnswer({ status: 200, body }), JOB, BASE);
  expect(reading).toMatchObject({
    observation: { urls: [`${BASE}/files/a.mp4`, other], keyedUrls: [`${BASE}/files/a.mp4`] },
  });
  expect(needsKey?.(new URL(`${BASE}/files/a.mp4`))).toBe(true);
});

it.each<[string, unknown, string, number | null]>([
  ["without a zone", "/end", "2026-01-01 20:00:00", null],
  ["with a zone", "/end", "2026-01-01T20:00:00+08:00", Date.UTC(2026, 0, 1, 12)],
  [
    "whose zone the declaration states",
    { at: "/end", zone: "+08:00" },
    "2026-01-01 20:00:00",
    Date.UTC(2026, 0, 1, 12),
  ],
  [
    "in Unix seconds",
    { at: ["/no", "/end"], zone: "+08:00" },
    "1767268800",
    Date.UTC(2026, 0, 1, 12),
  ],
])(
  "the time of a job's end that an upstream with a declaration states counts only if its time zone is known: a time %s",
  (_, place, end, completedAt) => {
    const { polls } = declared("comfy", { ...COMFY, poll: { ...COMFY.poll, completed_at: place } });
    const body = { end, "job-1": { status: { status_str: "success" } } };
    const reading = readPollAnswer(polls, anAnswer({ status: 200, body }), JOB, BASE);
    expect(reading).toMatchObject({ observation: { completedAt } });
  },
);

it("a declaration can name the number that means full progress: with 1 as this number, the progress 0.25 of a job is read as 25 percent", () => {
  const { polls } = declared("comfy", COMFY);
  const reading = readPollAnswer(
    polls,
    anAnswer({ status: 200, body: { progress: 0.25 } }),
    JOB,
    BASE,
  );
  expect(reading).toMatchObject({ observation: { progress: 25 } });
});

describe("the refusal of a submission by an upstream with a declaration", () => {
  const refused = { "/code": [433, "BAD"] };
  const { submits } = declared("a", {
    ...COMFY,
    submit: {
      ...COMFY.submit,
      busy: { "/code": ["BUSY"] },
      rate: { "/code": ["RATE"], "/error/type": ["overloaded"] },
      funds: { "/code": ["FUNDS"] },
      key: { "/code": ["KEY"] },
      refused,
    },
  });

  it.each<[number, unknown, RefusalClass | null]>([
    [200, { code: 433 }, "final"],
    [400, { code: "BAD" }, "final"],
    [200, { code: "433" }, null],
    [503, { code: 433 }, null],
    [200, { code: "BUSY" }, "busy"],
    [503, { code: "BUSY" }, "busy"],
    [403, { code: "RATE" }, "rate"],
    [503, { error: { type: "overloaded" } }, "rate"],
    [429, { code: "FUNDS" }, "funds"],
    [503, { code: "FUNDS" }, null],
    [400, { code: "KEY" }, "key"],
    [503, { code: "KEY" }, null],
    [402, {}, "funds"],
    [401, {}, "key"],
    [429, {}, "rate"],
    [404, {}, "final"],
    [409, {}, null],
    [503, {}, null],
  ])(
    "an upstream described by a declaration answers a submission with HTTP %i and the body %j: the relay classifies the refusal, by the values in the declaration and the HTTP status, as %s",
    (status, body, means) => {
      expect(submits?.refusal(status, body)).toBe(means);
    },
  );
});

it("the types of usage of a connection are exactly those that the declaration of its upstream names", () => {
  const { runpod } = DECLARATIONS;
  expect(declared("runpod", runpod).usageNames).toEqual(["execution_ms", "delay_ms", "cost"]);
  expect(declared("comfy", COMFY).usageNames).toEqual([]);
});

it("a hook of an upstream with a declaration is read even without a state when it names its job; a hook that has neither is not understood", () => {
  const { runpod } = DECLARATIONS;
  const read = (body: unknown) => {
    const hook = aHook({}, "", { path: "/hooks/gpu/task/token" });
    return declared("gpu", { ...runpod, key: "k" }).hooks?.read(body, hook) ?? null;
  };
  expect(read({ id: "job-1" })).toMatchObject({ jobId: "job-1", state: null, urls: [] });
  expect([read({ ended: true }), read([{ id: "job-1" }])]).toEqual([null, null]);
});

it("an answer without a state from an upstream with a declaration is a success when it has a file, or when it has text and names its job", () => {
  const { polls } = declared("a", {
    ...COMFY,
    poll: { path: "/q/{id}", id: "/id", state: "/state", outputs: ["/url"] },
  });
  const phaseOf = (body: object) => {
    const reading = readPollAnswer(polls, anAnswer({ status: 200, body }), JOB, BASE);
    return reading.kind === "observed" ? reading.observation.phase : reading.kind;
  };
  expect(phaseOf({ image: "data:image/png;base64,iVBORw0KGgo=" })).toBe("completed");
  expect(phaseOf({ id: "job-1", text: "A fox runs." })).toBe("completed");
  expect(phaseOf({ text: "A fox runs." })).toBe("unclear");
});
