import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { BODY_DEADLINE_MS } from "../../src/api/http/body.ts";
import { aReceiver } from "./receiver.ts";
import { callWith, post, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { aCompletion } from "./tasks.ts";
import { holdTimers } from "./timers.ts";

useClock();

const LIMIT = 256 * 1024;
const CHUNK = 16 * 1024;

/** Returns a stream of up to 64 MB in chunks, which counts how much of it was read. */
function endless() {
  const state = { pulled: 0, canceled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += CHUNK;
        controller.enqueue(new Uint8Array(CHUNK).fill(0x20));
        if (state.pulled >= 64 * 1024 * 1024) controller.close();
      },
      cancel() {
        state.canceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

/** Returns the JSON text of an event, padded to the given size. */
function sized(bytes: number, id: string): string {
  return JSON.stringify(aCompletion(id, { model: "m" })).padEnd(bytes);
}

const TOO_LARGE = { status: 413, code: "payload_too_large" };
const PATHS = [
  "/v1/tasks",
  "/v1/events",
  "/v1/callbacks/test",
  `/v1/tasks/${crypto.randomUUID()}/redeliver`,
];

it("a request body is not read when its Content-Length is over the limit", async () => {
  const { body, state } = endless();
  const headers = { "Content-Length": String(LIMIT + 1) };
  expect(await refusal(await callWith(env, "/v1/events", { body, headers }))).toEqual(TOO_LARGE);
  expect(state.pulled).toBe(0);
});

it.each([
  ["without a Content-Length", {}],
  ["with a Content-Length that is no number", { "Content-Length": "many" }],
  ["with a negative Content-Length", { "Content-Length": "-1" }],
])(
  "when a request body over the limit comes %s, the relay stops reading it soon after the limit and answers 413",
  async (_, headers) => {
    for (const path of PATHS) {
      const { body, state } = endless();
      expect(await refusal(await callWith(env, path, { body, headers }))).toEqual(TOO_LARGE);
      expect(state.pulled).toBeGreaterThan(LIMIT);
      expect(state.pulled).toBeLessThanOrEqual(LIMIT + 2 * CHUNK);
      expect(state.canceled).toBe(true);
    }
  },
);

it("a request body over the limit is refused with 413 even when its Content-Length states a size within the limit", async () => {
  const headers = { "Content-Length": "8" };
  const body = sized(LIMIT + 1, crypto.randomUUID());
  expect(await refusal(await callWith(env, "/v1/events", { body, headers }))).toEqual(TOO_LARGE);
});

it("the body of a request with neither an API key nor a signature is not read", async () => {
  const { body, state } = endless();
  expect((await callWith(env, "/v1/events", { body, key: null })).status).toBe(401);
  expect(state.pulled).toBe(0);
});

/** Headers of a signature of the present time, which nobody has made. */
const SIGNED = {
  "webhook-id": "msg_1",
  "webhook-timestamp": `${START_S}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};

it("when the body of a signed POST /v1/events is too large, the relay stops reading it soon after the limit and answers 413", async () => {
  const { body, state } = endless();
  const response = await callWith(env, "/v1/events", { body, key: null, headers: SIGNED });
  expect(await refusal(response)).toEqual(TOO_LARGE);
  expect(state.pulled).toBeLessThanOrEqual(LIMIT + 2 * CHUNK);
});

it.each([
  ["no webhook-id", { "webhook-id": "" }],
  ["a time that is over 300 s ago", { "webhook-timestamp": `${START_S - 301}` }],
  ["a time that is no number", { "webhook-timestamp": "now" }],
  ["no signature of version 1", { "webhook-signature": `v1a,${"A".repeat(43)}=` }],
  ["a signature that is no base64", { "webhook-signature": `v1,${"?".repeat(43)}=` }],
])(
  "POST /v1/events answers 401 and does not read the body when the request's signature has %s",
  async (_, changed) => {
    const { body, state } = endless();
    const headers = { ...SIGNED, ...changed };
    const response = await callWith(env, "/v1/events", { body, key: null, headers });
    expect(await refusal(response)).toMatchObject({ status: 401 });
    expect(state.pulled).toBe(0);
  },
);

it.each([
  ["without a Content-Length", {}],
  ["with a Content-Length", { "Content-Length": "100" }],
])(
  "a request body %s that has not ended after 30 seconds is refused with 408",
  async (_, headers) => {
    const passTime = holdTimers(BODY_DEADLINE_MS);
    for (const path of PATHS) {
      const { readable: body } = new TransformStream<Uint8Array, Uint8Array>();
      const call = callWith(env, path, { body, headers });
      await expect.poll(() => body.locked).toBe(true);
      passTime();
      expect(await refusal(await call)).toEqual({ status: 408, code: "body_timeout" });
    }
  },
);

it("a request body of exactly MAX_BODY_KB is accepted, whether it is sent whole or in chunks", async () => {
  aReceiver();
  const [whole, chunked] = [crypto.randomUUID(), crypto.randomUUID()];
  expect((await post("/v1/events", sized(LIMIT, whole))).status).toBe(202);
  const bytes = new TextEncoder().encode(sized(LIMIT, chunked));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 1000) {
        controller.enqueue(bytes.subarray(at, at + 1000));
      }
      controller.close();
    },
  });
  expect((await callWith(env, "/v1/events", { body })).status).toBe(202);
});

it("when MAX_BODY_KB is 1, a request body of 1,024 bytes is accepted and one of 1,025 bytes is refused", async () => {
  const id = crypto.randomUUID();
  const send = (bytes: number) =>
    callWith({ ...env, MAX_BODY_KB: "1" }, "/v1/events", { body: sized(bytes, id) });
  expect((await send(1025)).status).toBe(413);
  expect((await send(1024)).status).toBe(202);
});
