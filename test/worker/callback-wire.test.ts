import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { expect, it } from "vitest";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { call } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { restart, wake } from "./objects.ts";
import { secretsOf } from "./secrets.ts";
import { aCompletion, aFailure, CALLBACK_URL, completed, finish, register } from "./tasks.ts";

useClock();

it("the callback of a completed task has exactly the expected headers and body, and GET /v1/tasks/{id} begins with the bytes of that body", async () => {
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
  await finish(aCompletion(id, { output: { metadata, urls } }));
  expect(received).toEqual([
    {
      url: CALLBACK_URL,
      method: "POST",
      redirect: "manual",
      body:
        `{"id":"${id}","status":"completed","model":"seedance","created_at":${START_S},` +
        `"completed_at":${START_S + 4},"output":{"urls":["https://cdn.example.net/ü.mp4?a=1&b=%20",` +
        `"http://cdn.example.net/b.mp4"],"metadata":{"seed":42,"ratio":"16:9","duration":5,` +
        `"resolution":"720p","generate_audio":true,"framespersecond":24,"extra":"kept"}}}`,
      bytes: expect.any(Uint8Array),
      headers: {
        "content-type": "application/json",
        "user-agent": "TaskRelay/1 (+https://relay.example.com)",
        "x-event": "task.completed",
        "x-task-id": id,
        "x-timestamp": String(START_S + 4),
        "x-attempt": "1",
        "webhook-id": `msg_${id}`,
        "webhook-timestamp": String(START_S + 4),
        "webhook-signature": expect.stringMatching(
          /^v1,[A-Za-z0-9+/]{43}= v1a,[A-Za-z0-9+/]{86}==$/,
        ),
      },
    },
  ]);
  // The answer to GET begins with the same bytes.
  const text = await (await call(`/v1/tasks/${id}`)).text();
  expect(text.startsWith(requestAt(received, 0).body.slice(0, -1))).toBe(true);
});

it("the callback of a failed task has exactly the expected body", async () => {
  const received = aReceiver();
  const id = await register();
  await finish(aFailure(id, { error: { message: 'Said "no"\n', code: "nsfw" } }));
  expect(received).toMatchObject([
    {
      headers: { "x-event": "task.failed" },
      body:
        `{"id":"${id}","status":"failed","model":"seedance","created_at":${START_S},` +
        `"error":{"code":"nsfw","message":"Said \\"no\\"\\n"}}`,
    },
  ]);
});

it("all attempts of a callback have the same body and webhook-id, but each its own number, time and signature", async () => {
  const received = aReceiver(status(500), status(503), status(200));
  const id = await completed();
  for (const wait of [180_000, 600_000]) await wake(id, wait);
  const times = [START_S, START_S + 180, START_S + 780].map(String);
  const { body } = requestAt(received, 0);
  expect(received).toMatchObject(
    times.map((time, i) => ({
      body,
      headers: {
        "webhook-id": `msg_${id}`,
        "x-attempt": String(i + 1),
        "x-timestamp": time,
        "webhook-timestamp": time,
      },
    })),
  );
  expect(new Set(received.map(({ headers }) => headers["webhook-signature"])).size).toBe(3);
});

it("after a rotation of RELAY_SECRET, the packages standardwebhooks and svix verify a callback with either of the two secrets", async () => {
  const received = aReceiver(status(500));
  const id = await completed();
  const rotated = { ...env, RELAY_SECRET: `${"n".repeat(40)} ${env.RELAY_SECRET}` };
  await restart(id, rotated);
  await wake(id, 180_000);
  const { headers, body } = requestAt(received, 1);
  const secrets = (await secretsOf(rotated)).callbacks;
  expect(secrets).toHaveLength(2);
  for (const receiver of secrets.flatMap((each) => [new Standard(each), new Svix(each)])) {
    expect(() => receiver.verify(body, headers)).not.toThrow();
    expect(() => receiver.verify(`${body} `, headers)).toThrow(/signature/);
  }
  const versions = headers["webhook-signature"]?.split(" ").map((each) => each.split(",")[0]);
  expect(versions).toEqual(["v1", "v1", "v1a", "v1a"]);
});
