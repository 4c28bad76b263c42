import { expect, it } from "vitest";
import * as z from "zod";
import { declarationOf } from "../../../scripts/providers-new/declaration-text.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { parseDeclaration } from "../../../src/providers/generic/declaration.ts";
import { DECLARATIONS } from "../declarations.ts";

const MARK = "do-not-repeat-me";
const { runpod, "sync-so": sync } = DECLARATIONS;
const { poll, hook, submit } = runpod;
const { signature } = sync.hook;

function withPoll(members: object) {
  return { ...runpod, poll: { ...poll, ...members } };
}

function withSignature(members: object) {
  return { ...sync, hook: { ...sync.hook, signature: { ...signature, ...members } } };
}

/** Declarations with one fault: its place, and the declaration. */
const FAULTS: readonly (readonly [place: string, declaration: unknown])[] = [
  ["base_url", { ...runpod, base_url: undefined }],
  ["key", { ...runpod, key: "" }],
  ["auth", { ...runpod, auth: MARK }],
  ["auth", { ...runpod, auth: "Host: {key}" }],
  ["auth", { ...runpod, auth: "Authorization: Bearer {key} {key}" }],
  ["auth", { ...runpod, auth: null }],
  ["headers.Content-Length", { ...runpod, headers: { "Content-Length": "1" } }],
  ["headers.X-A", { ...runpod, headers: { "X-A": `${MARK}\n` } }],
  ["polls_per_minute", { ...runpod, polls_per_minute: 0 }],
  ["link_life_h", { ...runpod, link_life_h: MARK }],
  ["poll_gap_s", { ...runpod, poll_gap_s: 0.5 }],
  ["retries", { ...runpod, retries: 3 }],
  ["submit", { ...runpod, submit: null }],
  ["submit.path", { ...runpod, submit: { ...submit, path: "run" } }],
  ["submit.path", { ...runpod, submit: { ...submit, path: "/a/../b" } }],
  ["submit.path.1", { ...runpod, submit: { ...submit, path: ["/a", "/b*"] } }],
  ["submit.id", { ...runpod, submit: { ...submit, id: "id" } }],
  ["submit.id.request", { ...runpod, submit: { ...submit, id: { request: "id" } } }],
  ["submit.id.answer", { ...runpod, submit: { ...submit, id: { request: "/id", answer: "/id" } } }],
  ["submit.list", { ...runpod, submit: { ...submit, list: false } }],
  ["submit.parameters.duration", { ...runpod, submit: { ...submit, parameters: { duration: 5 } } }],
  ["submit.refused./code", { ...runpod, submit: { ...submit, refused: { "/code": 433 } } }],
  ["poll.path", withPoll({ path: "/status" })],
  ["poll.path", withPoll({ path: "/status/{id}/{key}" })],
  ["poll.path", withPoll({ path: "/../{id}" })],
  ["poll.path", withPoll({ path: "//evil.example/{id}" })],
  ["poll.path", withPoll({ path: "/status/{id}#a" })],
  ["poll.path", withPoll({ path: "https://evil.example/{id}" })],
  ["poll.method", withPoll({ method: "PUT" })],
  ["poll.method", withPoll({ body: { id: "{id}" } })],
  ["poll.state", withPoll({ state: "status" })],
  ["poll.state", withPoll({ state: ["/a", "/b~2"] })],
  ["poll.state", withPoll({ state: [] })],
  ["poll.otherwise", withPoll({ otherwise: "failed" })],
  ["poll.outputs_in", withPoll({ outputs_in: "output" })],
  ["poll.outputs.1", withPoll({ outputs: ["/a", "b"] })],
  ["poll.outputs.0.url", withPoll({ outputs: [{ at: "/a", url: "view/{name}" }] })],
  ["poll.outputs.0.href", withPoll({ outputs: [{ at: "/a", url: "/a", href: "/b" }] })],
  ["poll.error.text", withPoll({ error: { code: "/a", text: "/b" } })],
  ["poll.progress.full", withPoll({ progress: { at: "/a", full: 0 } })],
  ["poll.usage.a b", withPoll({ usage: { "a b": "/a" } })],
  ["poll.usage.a", withPoll({ usage: { a: "b" } })],
  ["poll.completed_at.zone", withPoll({ completed_at: { at: "/end" } })],
  ["poll.completed_at.zone", withPoll({ completed_at: { at: "/end", zone: "Asia/Shanghai" } })],
  ["poll.completed_at.zone", withPoll({ completed_at: { at: "/end", zone: "8" } })],
  ["poll.metadata.width", withPoll({ metadata: { width: "/width" } })],
  ["hook.field", { ...runpod, hook: { ...hook, field: "a..b" } }],
  ["hook.signature.header", withSignature({ header: "a b" })],
  ["hook.signature.recipe", withSignature({ recipe: "{timestamp}" })],
  ["hook.signature.recipe", withSignature({ recipe: "{timestamp}.{body}.{nonce}" })],
  ["hook.signature.recipe", withSignature({ recipe: "{body}" })],
  ["hook.signature.recipe", withSignature({ timestamp_prefix: null })],
  ["hook.signature.timestamp_prefix", withSignature({ timestamp_header: "X-Time" })],
  ["hook.signature.tolerance_s", withSignature({ tolerance_s: 7_200 })],
  ["hook.signature", { ...sync, hook: { field: "webhookUrl" } }],
  ["cancel.path", { ...runpod, cancel: { path: "/cancel" } }],
  ["cancel.method", { ...runpod, cancel: { path: "/cancel/{id}", method: "GET" } }],
  ["words.DONE", { ...runpod, words: { DONE: MARK } }],
  ["words.done", { ...runpod, words: { DONE: "completed", done: "failed" } }],
  ["words.in queue", { ...runpod, words: { IN_QUEUE: "queued", "in queue": "queued" } }],
  ["words", { ...withPoll({ state: "http_status" }), words: null }],
  ["words.DONE", { ...withPoll({ state: "http_status" }), words: { DONE: "completed" } }],
  ["words.401", { ...withPoll({ state: "http_status" }), words: { 401: "failed" } }],
];

it.each(FAULTS)(
  "an upstream's declaration with a fault in %s is refused with a message that names this part and does not contain the value",
  (place, declaration) => {
    const parsed = parseDeclaration(declaration);
    if (parsed.ok) throw new Error("the declaration was accepted");
    expect(parsed.error.map(({ path }) => path.join("."))).toEqual([place]);
    for (const { message } of parsed.error) {
      expect(message).toMatch(/^(?:must|is) /);
      expect(message).not.toContain(MARK);
    }
  },
);

it("an upstream's declaration with several faults is refused with a message that says where each of them is", () => {
  const parsed = parseDeclaration({ ...withPoll({ state: 7 }), retries: 3, cancel: {} });
  const places = parsed.ok ? [] : parsed.error.map(({ path }) => path.join("."));
  expect(places.toSorted()).toEqual(["cancel.path", "poll.state", "retries"]);
});

it("an upstream's declaration with an unknown member is refused with a message that names the known members", () => {
  const parsed = parseDeclaration({ ...runpod, hook: { ...hook, secret: MARK } });
  expect(parsed).toMatchObject({
    error: [{ path: ["hook", "secret"], message: expect.stringContaining("signature") }],
  });
});

it("an upstream's declaration is refused when it has the member __proto__ in an object whose member names are free, such as words", () => {
  const parsed = parseDeclaration(
    JSON.parse(JSON.stringify(runpod).replace('"IN_QUEUE"', '"__proto__"')),
  );
  expect(parsed).toMatchObject({ error: [{ path: ["words", "__proto__"] }] });
});

it.each(Object.entries(DECLARATIONS))(
  "the declaration of the upstream %s is valid, also when the members that it leaves out are null",
  (_, declaration: JsonObject) => {
    expect(parseDeclaration(declaration)).toMatchObject({ ok: true });
    expect(parseDeclaration({ ...declaration, link_life_h: null, words: null })).toMatchObject({
      ok: true,
    });
  },
);

it.each([true, false])(
  "npm run providers:new prints a valid declaration of an upstream (with hooks: %s), and then how to write an adapter instead",
  (hasHooks) => {
    const text = declarationOf({ name: "a-b", identifier: "aB", prefix: "A_B", hasHooks });
    const [json = ""] = /^\{.*?\}\}\}$/ms.exec(text) ?? [];
    const entries = z.record(z.string(), z.looseObject({})).parse(JSON.parse(json));
    expect(parseDeclaration(entries["a-b"])).toMatchObject({ ok: true });
    expect(entries["a-b"]?.["hook"] === undefined).toBe(!hasHooks);
    expect(text).toContain("npm run providers:new -- a-b --code");
  },
);
