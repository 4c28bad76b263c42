import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { at } from "../../src/providers/json-fields.ts";
import { ADAPTERS, baseUrlIn } from "../providers/adapters.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES } from "../providers/examples.ts";
import type {
  SubmitExample,
  SubmitExamples,
} from "../../src/providers/shared/examples/submit-examples.ts";
import { callWith, invalid, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored, untilIdle } from "./objects.ts";
import { anOutside, answering, type Outside, type Sent } from "./outside.ts";
import { found, keyVarsOf } from "./senders.ts";
import { named, readSubmitted, submit } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const SUBMITTING = EXAMPLES.flatMap(({ provider, submits }) => {
  const adapter = ADAPTERS.get(provider);
  if (submits === undefined || adapter === undefined) return [];
  const bindings = { ...env, ...keyVarsOf(provider, `test-only-${provider}-key`) };
  const baseUrl = baseUrlIn(provider, GATEWAY);
  return [{ provider, submits, adapter, bindings, baseUrl }];
});

type Submitting = (typeof SUBMITTING)[number];

function submittingTo(name: string): Submitting {
  return found(SUBMITTING, ({ provider }) => provider === name);
}

/**
 * Submits the documented call at a path, or another body with other headers.
 * @returns the answer, the task's id, and what was sent.
 */
async function submitted(
  { provider, submits, bindings, baseUrl }: Submitting,
  { path, answer }: Pick<SubmitExample, "path" | "answer">,
  given: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
) {
  const outside: Outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(baseUrl, answering(answer.body, answer.status));
  const { id, headers: usual } = named();
  const headers = { ...(given.headers ?? usual), "Relay-Task-Id": id };
  const body = JSON.stringify(given.body ?? bodyAt(submits, path));
  const response = await submit({ path: `/v1/submit/${provider}${path}`, body, headers, bindings });
  const [sent, ...others] = outside.sentTo(baseUrl);
  if (sent === undefined || others.length > 0) throw new Error(`${others.length + 1} calls`);
  return { id, response, sent };
}

/** Returns the body of the documented call at a path. */
function bodyAt(submits: SubmitExamples, path: string): unknown {
  const { body, isListOfOne = false } = callAt(submits, path);
  return isListOfOne ? [body] : body;
}

function callAt({ calls }: SubmitExamples, path: string) {
  const call = calls.find((each) => each.path === path);
  if (call === undefined) throw new Error(`no call at ${path}`);
  return call;
}

/** Returns the id of the job in an answer. */
function jobIn({ means }: SubmitExample): string | undefined {
  if (typeof means !== "object" || "refused" in means) return undefined;
  return "namedJob" in means ? means.namedJob : means.job?.id;
}

/** Returns the value at a field of a sent call, in the notation of adapters, e.g. `?name`, `a.b` or, for a list, `a.b[]`. */
function fieldOf({ url, body }: Sent, field: string): unknown {
  if (field.startsWith("?")) return new URL(url).searchParams.get(field.slice(1));
  const sent: unknown = JSON.parse(body);
  const call: unknown = Array.isArray(sent) ? sent[0] : sent;
  const names = field.replace("[]", ".0").split(".");
  return names.reduce((value, name) => at(value, name), call);
}

/** Returns an answer without its links to calls about the job, which lead to the relay in what the caller gets. */
function withoutLinks({ adapter }: Submitting, answer: unknown): unknown {
  const pointers = adapter.jobCalls?.links ?? [];
  const without = (value: unknown, pointer: string): unknown => {
    if (Array.isArray(value)) return value.map((each, nth) => without(each, `${pointer}/${nth}`));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(
      ([name]) => !pointers.includes(`${pointer}/${name}`),
    );
    return Object.fromEntries(
      entries.map(([name, each]) => [name, without(each, `${pointer}/${name}`)]),
    );
  };
  return without(answer, "");
}

describe.each(SUBMITTING)("a submission to $provider", (submitting) => {
  const { provider, submits, adapter, bindings, baseUrl } = submitting;
  const { accepted, refused } = submits;

  it(`a submission to ${provider} is sent to the provider's own path with the relay's key for it and, if ${provider} sends hooks, with the task's hook URL`, async () => {
    const { id, sent } = await submitted(submitting, accepted);
    expect(sent.url.split("?")[0]).toBe(`${baseUrl}${accepted.path}`);
    expect(Object.values(sent.headers).join(" ")).toContain(`test-only-${provider}-key`);
    const { hooks } = adapter;
    if (hooks === null || hooks.isOptional === true) return;
    expect(fieldOf(sent, hooks.parameter)).toContain(`/hooks/${provider}/${id}/`);
    if (hooks.idParameter !== null) expect(fieldOf(sent, hooks.idParameter)).toBe(id);
  });

  it(`the response of ${provider} to a submission is passed on, and the job in it is attached to the task with the model of the call`, async () => {
    const { id, response } = await submitted(submitting, accepted);
    const { status, body } = accepted.answer;
    const passed = withoutLinks(submitting, await response.json());
    expect([response.status, passed]).toEqual([status, withoutLinks(submitting, body)]);
    const { model, endpoint } = callAt(submits, accepted.path);
    const upstream = { id: jobIn(accepted), ...(endpoint !== null && { endpoint }) };
    const task = await readSubmitted(id, bindings);
    expect(task).toMatchObject({ status: "pending", model, upstream });
  });

  it(`a refusal by ${provider} is passed on as the response to the submission, and no task remains`, async () => {
    const { id, response } = await submitted(submitting, refused);
    expect(response.status).toBe(refused.answer.status);
    expect(await response.json()).toEqual(refused.answer.body);
    expect(response.headers.get("Relay-Task-Id")).toBe(id);
    expect(await stored(id)).toEqual(NOTHING);
  });
});

it.each(
  SUBMITTING.flatMap((submitting) => {
    const { result } = submitting.submits;
    return "exempt" in result ? [] : [[submitting.provider, submitting, result] as const];
  }),
)(
  "when %s answers a submission at once with the result, the task ends",
  async (_, submitting, result) => {
    const { id, response } = await submitted(submitting, result);
    const passed = withoutLinks(submitting, await response.json());
    expect(passed).toEqual(withoutLinks(submitting, result.answer.body));
    await untilIdle(id);
    expect(await readSubmitted(id, submitting.bindings)).toMatchObject({ status: "completed" });
  },
);

it("a submission to Kling's API of 2026 gets hook URL and task id in its object options; a URL found there becomes the task's callback_url", async () => {
  const kling = submittingTo("kling");
  const path = "/text-to-video/kling-3.0";
  const body = { prompt: "a fox", options: { callback_url: CALLBACK_URL, watermark: false } };
  const accepted = { status: 200, body: { code: 0, data: { id: "893605", status: "submitted" } } };
  const { id, sent } = await submitted(kling, { path, answer: accepted }, { body, headers: {} });
  const hookUrl = fieldOf(sent, "options.callback_url");
  expect(hookUrl).toContain(`/hooks/kling/${id}/`);
  expect(JSON.parse(sent.body)).toEqual({
    prompt: "a fox",
    options: { callback_url: hookUrl, watermark: false, external_task_id: id },
  });
  expect(await readSubmitted(id, kling.bindings)).toMatchObject({
    model: "kling-3.0",
    callback: { url: CALLBACK_URL },
    upstream: { id: "893605" },
  });
});

it("a submission to Kling for speech, whose response has the result at once, gets no hook URL", async () => {
  const kling = submittingTo("kling");
  const { result } = kling.submits;
  if ("exempt" in result) throw new Error("Kling answers no call at once");
  const { sent } = await submitted(kling, result);
  expect(JSON.parse(sent.body)).toEqual(callAt(kling.submits, result.path).body);
});

it("in submissions to dashscope, the relay itself sets the required header X-DashScope-Async, whatever value the caller has sent", async () => {
  const dashscope = submittingTo("dashscope");
  const { sent } = await submitted(dashscope, dashscope.submits.accepted, {
    headers: { "X-DashScope-Async": "disable" },
  });
  expect(sent.headers["x-dashscope-async"]).toBe("enable");
});

it("a submission without a model gets its path as the model of its task, or is refused if the provider needs a model; a model that is no text is refused", async () => {
  const kling = submittingTo("kling");
  const path = "/v1/videos/effects";
  const answer = {
    status: 200,
    body: { code: 0, data: { task_id: "1", task_status: "submitted" } },
  };
  const { id } = await submitted(kling, { path, answer }, { body: { model_name: null } });
  expect(await readSubmitted(id, kling.bindings)).toMatchObject({ model: "videos/effects" });

  const numbered = { path: `/v1/submit/kling${path}`, body: '{"model_name": 7}' };
  const wrong = await submit({ ...numbered, bindings: kling.bindings });
  expect(await refusal(wrong)).toEqual(invalid("/model_name"));
  const nameless = { path: "/v1/submit/runway/v1/text_to_video", body: "{}" };
  const missing = await submit({ ...nameless, bindings: submittingTo("runway").bindings });
  expect(await refusal(missing)).toEqual(invalid("/model"));
});

const GEMINI_PATH = "/v1beta/interactions";

/** Returns the documented call to Gemini with further members. */
function geminiCall(members: object): object {
  return { ...callAt(submittingTo("gemini").submits, GEMINI_PATH).body, ...members };
}

it("in a submission to Gemini, a URL in the list of hook URLs becomes the task's callback_url, and is replaced by the relay's hook URL", async () => {
  const gemini = submittingTo("gemini");
  const config = { uris: [CALLBACK_URL], user_metadata: { order: 7 } };
  const given = { body: geminiCall({ webhook_config: config }), headers: {} };
  const { id, sent } = await submitted(gemini, gemini.submits.accepted, given);
  const hookUrl = fieldOf(sent, "webhook_config.uris[]");
  expect(hookUrl).toContain(`/hooks/gemini/${id}/`);
  expect(JSON.parse(sent.body)).toEqual(
    geminiCall({ webhook_config: { ...config, uris: [hookUrl] } }),
  );
  expect(await readSubmitted(id, gemini.bindings)).toMatchObject({
    callback: { url: CALLBACK_URL },
  });
});

it("in a submission to Gemini, an empty list of hook URLs gets the relay's hook URL", async () => {
  const gemini = submittingTo("gemini");
  const body = geminiCall({ webhook_config: { uris: [] } });
  const { id, sent } = await submitted(gemini, gemini.submits.accepted, { body });
  expect(fieldOf(sent, "webhook_config.uris[]")).toContain(`/hooks/gemini/${id}/`);
});

it.each<[string, object, string]>([
  [
    "has two hook URLs",
    { webhook_config: { uris: [CALLBACK_URL, CALLBACK_URL] } },
    "/webhook_config/uris",
  ],
  [
    "has a hook URL that is no list",
    { webhook_config: { uris: CALLBACK_URL } },
    "/webhook_config/uris",
  ],
  ["has a hook URL that is no text", { webhook_config: { uris: [7] } }, "/webhook_config/uris"],
  ["does not run in the background", { background: false }, "/background"],
  ["is not to be stored", { store: false }, "/store"],
  ["asks for a stream", { stream: true }, "/stream"],
])(
  "a submission to Gemini that %s is refused before anything is sent",
  async (_, members, path) => {
    const { bindings } = submittingTo("gemini");
    const body = JSON.stringify(geminiCall(members));
    const response = await submit({ path: `/v1/submit/gemini${GEMINI_PATH}`, body, bindings });
    expect(await refusal(response)).toEqual(invalid(path));
  },
);

it.each(
  SUBMITTING.flatMap(({ provider, submits, adapter, bindings }) =>
    submits.calls
      .filter(({ path }) => adapter.submits?.target(path)?.needsCall === true)
      .map(({ path, body }) => [provider, path, body, bindings] as const),
  ),
)(
  "a submission to %s at %s, whose answer has files or text, is refused before anything is sent if the relay is not to make the call itself",
  async (provider, path, body, bindings) => {
    const text = JSON.stringify(body);
    const response = await submit({ path: `/v1/submit/${provider}${path}`, body: text, bindings });
    expect(await refusal(response)).toEqual({ status: 400, code: "prefer_required" });
  },
);

const RUNWARE_CALL = { taskUUID: "50836053-a0ee-4cf5-b9d6-ae7c5d140ada", model: "m" };

it.each<[string, string, object, string]>([
  ["fal", "/fal-ai/flux/dev", { prompt: "a fox", sync_mode: true }, "/sync_mode"],
  ["wavespeed", "/api/v3/google/veo3", { enable_base64_output: true }, "/enable_base64_output"],
  [
    "atlascloud",
    "/api/v1/model/generateImage",
    { model: "m", enable_base64_output: true },
    "/enable_base64_output",
  ],
  [
    "gemini",
    GEMINI_PATH,
    geminiCall({ response_format: { type: "video" } }),
    "/response_format/delivery",
  ],
  [
    "gemini",
    GEMINI_PATH,
    geminiCall({ response_format: { delivery: "inline" } }),
    "/response_format/delivery",
  ],
  [
    "gemini",
    GEMINI_PATH,
    geminiCall({ response_format: [{ delivery: "uri" }] }),
    "/response_format/delivery",
  ],
  ["runware", "/v1", [{ ...RUNWARE_CALL, outputType: "base64Data" }], "/outputType"],
])(
  "without a bucket, a submission to %s at %s that asks for the output itself in the response gets 422 and is not sent: %j",
  async (provider, path, call, member) => {
    const bindings = { ...env, ...keyVarsOf(provider, "test-only-key") };
    const { id, headers } = named();
    const body = JSON.stringify(call);
    const response = await submit({
      path: `/v1/submit/${provider}${path}`,
      body,
      headers,
      bindings,
    });
    expect([response.status, await response.json()]).toEqual([
      422,
      expect.objectContaining({
        code: "output_needs_store",
        issues: [expect.objectContaining({ path: member })],
      }),
    ]);
    expect((await callWith(bindings, `/v1/tasks/${id}`)).status).toBe(404);
  },
);
