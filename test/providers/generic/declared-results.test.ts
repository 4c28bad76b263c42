import { expect, it } from "vitest";
import { toNews } from "../../../src/providers/observation.ts";
import { plainReadingOf, unreadableIn } from "../../../src/providers/submit.ts";
import { parseDeclaration } from "../../../src/providers/generic/declaration.ts";
import { configuredWith, connections } from "../../core/configuration.ts";
import { declared } from "../adapters.ts";
import { OWN_DECLARATIONS } from "../declarations.ts";

const { openai } = OWN_DECLARATIONS;
const BASE = openai.base_url;
const ERROR_TEXT = { isGeneric: false, secrets: [] };
const IMAGE = "https://cdn.example/a.png";
/** The least declaration of an upstream whose answers are the results. */
const LEAST = {
  provider: "generic",
  base_url: "https://api.example.com",
  submit: { path: "/make/*", answer: "result" },
};

/** Returns the description of a call. @throws Error when the path starts nothing. */
function targetAt(path: string, declaration: object = openai) {
  const target = declared("own", declaration).submits?.target(path) ?? null;
  if (target === null) throw new Error(`no target at ${path}`);
  return target;
}

/** Returns what the answer to a call means for its task; `unclear` when it leaves that open. */
function meaningOf(body: unknown, declaration: object = LEAST) {
  const reading = declared("own", declaration).submits?.readAnswer(body, "/make/a", BASE);
  return reading?.kind === "result" ? toNews(reading.observation, ERROR_TEXT) : reading?.kind;
}

it.each<[string, object]>([
  ["submit.id", { ...LEAST, submit: { ...LEAST.submit, id: "/id" } }],
  ["submit.inline", { ...LEAST, submit: { ...LEAST.submit, inline: {} } }],
  ["submit.streams", { ...LEAST, submit: { ...LEAST.submit, streams: "make" } }],
  ["submit.multipart", { ...LEAST, submit: { ...LEAST.submit, multipart: false } }],
  ["submit.unreadable./a", { ...LEAST, submit: { ...LEAST.submit, unreadable: { "/a": 1 } } }],
  ["poll.path", { ...LEAST, poll: { path: "/jobs/{id}" } }],
  ["hook", { ...LEAST, hook: { field: "webhook" } }],
  ["cancel", { ...LEAST, cancel: { path: "/cancel/{id}" } }],
  ["poll_gap_s", { ...LEAST, poll_gap_s: 5 }],
  ["auth", { ...LEAST, key: "k" }],
  ["words.done", { ...LEAST, words: { DONE: "completed", done: "failed" } }],
])(
  "the declaration of an upstream whose answers are the results is refused when it has a fault, or what only jobs have, in %s",
  (place, declaration) => {
    const parsed = parseDeclaration(declaration);
    expect(parsed.ok ? [] : parsed.error.map(({ path }) => path.join("."))).toEqual([place]);
  },
);

it("an upstream whose answers are the results has no jobs that could be polled, read or canceled, with the operator's key and with a customer's", () => {
  const configured = configuredWith(connections({ own: { ...openai, key: "k" } }));
  if (!configured.ok) throw new Error("the configuration was refused");
  expect(configured.value.polls.has("own")).toBe(false);
  expect(configured.value.customerPolls.has("own")).toBe(false);
  const { hooks, cancels, jobCalls } = declared("own", openai);
  expect([hooks, cancels, jobCalls?.read]).toEqual([null, undefined, []]);
});

it("every call to an upstream whose answers are the results needs a call by the relay itself; only where its declaration says so it may be a form, or ask for a stream", () => {
  expect(targetAt("/make/fox", LEAST)).toMatchObject({
    answer: "result",
    model: { name: "fox" },
    needsCall: true,
    unreadable: { "/stream": [true, "true"] },
  });
  expect(targetAt("/make/fox", LEAST).takesMultipart).toBeUndefined();
  const own = { "/background": [true], "/stream_format": ["sse"] };
  const stream = { "/stream": [true, "true"] };
  for (const path of ["/v1/images/edits", "/v1/audio/transcriptions", "/v1/responses"]) {
    expect(unreadableIn(targetAt(path), true), path).toEqual(own);
  }
  for (const path of ["/v1/chat/completions", "/v1/audio/speech"]) {
    expect(unreadableIn(targetAt(path), true), path).toEqual({ ...own, ...stream });
  }
  expect(targetAt("/v1/images/edits")).toMatchObject({
    takesMultipart: true,
    model: { pointer: "/model", otherwise: "own" },
  });
});

it.each([
  ["audio/mpeg", "result"],
  ["image/png", "result"],
  ["text/plain", "result"],
  ["application/octet-stream", "result"],
  ["text/html", "unclear"],
  ["text/event-stream", "unclear"],
  ["application/json", "unclear"],
  ["", "unclear"],
])(
  "an answer that is not JSON, of an upstream whose answers are the results, with the media type %j is read as: %s",
  (mediaType, kind) => {
    expect(plainReadingOf(targetAt("/make/fox", LEAST), mediaType).kind).toBe(kind);
  },
);

it("an answer of an upstream whose answers are the results is complete without any declared place, and has its links as outputs", () => {
  expect(meaningOf({ text: "A fox." })).toEqual({ status: "no_output" });
  expect(meaningOf({ image: "relay-output:a1b2:1" })).toEqual({ status: "no_output" });
  expect(meaningOf({ image: IMAGE, error: null })).toMatchObject({ urls: [IMAGE] });
  expect(meaningOf([{ image: IMAGE }])).toMatchObject({ urls: [IMAGE] });
  expect(meaningOf("A fox.")).toBe("unclear");
  expect(meaningOf(undefined)).toBe("unclear");
});

it("an answer without a state, of an upstream whose answers are the results, is a failure when it has an error and no output", () => {
  const error = { code: "content_policy_violation", message: "Refused." };
  const failed = { status: "failed", error: { message: "Refused." } };
  expect(meaningOf({ error })).toMatchObject(failed);
  expect(meaningOf({ error, image: IMAGE })).toMatchObject({ status: "completed" });
  const elsewhere = { ...LEAST, poll: { error: "/fault" } };
  expect(meaningOf({ fault: "Refused." }, elsewhere)).toMatchObject(failed);
});

it("an answer of an upstream whose answers are the results is read by the state in it: success, failure or, for any other state, an unclear outcome", () => {
  const stated = { ...LEAST, poll: { state: "/status", usage: { tokens: "/tokens" } } };
  const meaning = (status: string) => meaningOf({ status, tokens: 7, image: IMAGE }, stated);
  expect(meaning("completed")).toMatchObject({ status: "completed", usage: { tokens: 7 } });
  expect(meaning("failed")).toMatchObject({ status: "failed", usage: { tokens: 7 } });
  expect([meaning("queued"), meaning("in_progress"), meaning("dreamt")]).toEqual(
    Array.from({ length: 3 }, () => "unclear"),
  );
});

it.each<[string, object]>([
  ["image_generation.partial_image", { partial_image_index: 0 }],
  ["transcript.text.delta", { delta: "A" }],
  ["response.output_text.delta", { delta: "A", item_id: "msg_1" }],
  ["response.created", { response: { status: "in_progress" } }],
])(
  "a stream of OpenAI that breaks off, so that its last event is %s, leaves the outcome open",
  (type, fields) => {
    expect(meaningOf({ type, ...fields }, openai)).toBe("unclear");
  },
);

it.each<[string, object]>([
  ["image_generation.completed", {}],
  ["image_edit.completed", {}],
  ["transcript.text.done", { text: "A fox." }],
  ["response.completed", { response: { status: "completed" } }],
])("a stream of OpenAI whose last event is %s is complete", (type, fields) => {
  expect(meaningOf({ type, ...fields }, openai)).toEqual({ status: "no_output" });
});

it("the declaration of OpenAI names exactly the numbers of usage by which a price may be, and classifies its refusals", () => {
  const { usageNames, submits } = declared("openai", openai);
  expect(usageNames).toEqual(Object.keys(openai.poll.usage));
  const refusal = (status: number, error: object) => submits?.refusal(status, { error });
  expect(refusal(401, { code: "invalid_api_key" })).toBe("key");
  expect(refusal(429, { code: "rate_limit_exceeded", type: "requests" })).toBe("rate");
  expect(refusal(429, { code: "insufficient_quota", type: "insufficient_quota" })).toBe("funds");
  expect(refusal(400, { code: "billing_hard_limit_reached" })).toBe("funds");
  expect(refusal(400, { code: "moderation_blocked" })).toBe("final");
  expect(refusal(503, { code: "server_is_overloaded" })).toBe("rate");
  expect(refusal(500, { code: "server_error" })).toBeNull();
});
