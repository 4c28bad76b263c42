import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { restart } from "./instance.ts";
import { aReceiver, type Received, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  aRequest,
  atRest,
  call,
  CALLBACK_URL,
  pass,
  post,
  register,
  START_S,
  stored,
  stubOf,
  useClock,
} from "./support.ts";

useClock();

async function callbackSecrets(bindings: object = env): Promise<string[]> {
  const Secrets = z.object({ callbacks: z.array(z.string()).min(1) });
  const response = await app.fetch(aRequest("/v1/signing-secrets"), bindings);
  return Secrets.parse(await response.json()).callbacks;
}

describe("the request of a callback", () => {
  it("has exactly these headers and this body when a task has completed", async () => {
    const received = aReceiver();
    const id = await register({ metadata: { not: "sent" }, parameters: { not: "sent" } });
    const metadata = {
      extra: "kept",
      framespersecond: 24,
      generate_audio: true,
      resolution: "720p",
      duration: 5,
      ratio: "16:9",
      seed: 42,
    };
    const urls = ["https://cdn.example.net/ü.mp4?a=1&b=%20", "http://cdn.example.net/b.mp4"];
    pass(4000);
    await post("/v1/events", aCompletion(id, { output: { metadata, urls } }));
    await atRest(id);
    expect(received).toHaveLength(1);
    const { headers, ...request } = nth(received, 0);
    expect(request).toEqual({
      url: CALLBACK_URL,
      method: "POST",
      redirect: "manual",
      body:
        `{"id":"${id}","status":"completed","model":"seedance","created_at":${START_S},` +
        `"completed_at":${START_S + 4},"output":{"urls":["https://cdn.example.net/ü.mp4?a=1&b=%20",` +
        `"http://cdn.example.net/b.mp4"],"metadata":{"seed":42,"ratio":"16:9","duration":5,` +
        `"resolution":"720p","generate_audio":true,"framespersecond":24,"extra":"kept"}}}`,
    });
    expect(headers).toEqual({
      "content-type": "application/json",
      "user-agent": "TaskRelay/1 (+https://relay.example.com)",
      "x-event": "task.completed",
      "x-task-id": id,
      "x-timestamp": String(START_S + 4),
      "x-attempt": "1",
      "webhook-id": `msg_${id}`,
      "webhook-timestamp": String(START_S + 4),
      "webhook-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}= v1a,[A-Za-z0-9+/]{86}==$/),
    });
  });

  it("has exactly this body when a task has failed", async () => {
    const received = aReceiver();
    const id = await register();
    await post("/v1/events", aFailure(id, { error: { message: 'Said "no"\n', code: "nsfw" } }));
    await atRest(id);
    expect(received[0]?.headers["x-event"]).toBe("task.failed");
    expect(received[0]?.body).toBe(
      `{"id":"${id}","status":"failed","model":"seedance","created_at":${START_S},` +
        `"error":{"code":"nsfw","message":"Said \\"no\\"\\n"}}`,
    );
  });

  it("leaves out the metadata that the upstream did not give", async () => {
    const received = aReceiver();
    const id = await register();
    const output = { urls: ["https://a.example/b"], metadata: { seed: 0, ratio: null } };
    await post("/v1/events", aCompletion(id, { output }));
    await atRest(id);
    expect(received[0]?.body).toContain(
      '"output":{"urls":["https://a.example/b"],"metadata":{"seed":0}}}',
    );
  });

  it("has the same body and webhook-id on all attempts, and its own number, time and signature", async () => {
    const received = aReceiver(status(500), status(503), status(200));
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    for (const wait of [180_000, 600_000]) {
      pass(wait);
      await runDurableObjectAlarm(stubOf(id));
    }
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    const headers = received.map((each) => each.headers);
    expect(headers.map((each) => each["webhook-id"])).toEqual(Array(3).fill(`msg_${id}`));
    expect(headers.map((each) => each["x-attempt"])).toEqual(["1", "2", "3"]);
    const times = [START_S, START_S + 180, START_S + 780].map(String);
    expect(headers.map((each) => each["x-timestamp"])).toEqual(times);
    expect(headers.map((each) => each["webhook-timestamp"])).toEqual(times);
    expect(new Set(headers.map((each) => each["webhook-signature"])).size).toBe(3);
  });

  it("begins GET, whose task object is the body itself", async () => {
    const received = aReceiver();
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    const text = await (await call(`/v1/tasks/${id}`)).text();
    expect(text.startsWith((received[0]?.body ?? "none").slice(0, -1))).toBe(true);
  });
});

/** The nth request, which must have come. */
function nth(received: readonly Received[], index: number): Received {
  const request = received[index];
  if (request === undefined) throw new Error("it was not sent");
  return request;
}

describe("the signature of a callback", () => {
  it("verifies with the standardwebhooks and svix packages, and not for another body", async () => {
    const received = aReceiver();
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    const { headers, body } = nth(received, 0);
    const secrets = await callbackSecrets();
    for (const receiver of secrets.flatMap((each) => [new Standard(each), new Svix(each)])) {
      expect(() => receiver.verify(body, headers)).not.toThrow();
      expect(() => receiver.verify(`${body} `, headers)).toThrow(/signature/);
    }
  });

  it("is made for every active secret after a rotation", async () => {
    const received = aReceiver(status(500));
    const id = await register();
    const rotated = { ...env, RELAY_SECRET: `${"n".repeat(40)} ${env.RELAY_SECRET}` };
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    await restart(id, rotated);
    pass(180_000);
    await runDurableObjectAlarm(stubOf(id));
    const { headers, body } = nth(received, 1);
    const secrets = await callbackSecrets(rotated);
    expect(secrets).toHaveLength(2);
    for (const secret of secrets) {
      expect(() => new Standard(secret).verify(body, headers)).not.toThrow();
      expect(() => new Svix(secret).verify(body, headers)).not.toThrow();
    }
    const versions = headers["webhook-signature"]?.split(" ").map((each) => each.split(",")[0]);
    expect(versions).toEqual(["v1", "v1", "v1a", "v1a"]);
  });

  it("is never missing: without a secret no attempt is opened", async () => {
    const received = aReceiver(status(500));
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    const before = await stored(id);
    await restart(id, { ...env, RELAY_SECRET: "" });
    pass(180_000);
    await expect(runDurableObjectAlarm(stubOf(id))).rejects.toThrow("RELAY_SECRET");
    expect((await stored(id)).record).toEqual(before.record);
    expect(received).toHaveLength(1);
  });
});
