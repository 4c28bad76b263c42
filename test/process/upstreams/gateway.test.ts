import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";

const SECRET = "process-test-callback-secret";
const KEY = "process-test-gateway-key";
/**
 * Time in milliseconds within which polls without hooks find the end: the first poll is made after 10 seconds.
 */
const POLLED_WITHIN_MS = 60_000;

const gateway = await forThisFile(Receiver.start());
const receiver = await forThisFile(Receiver.start());
const connection = { provider: "openai-videos", key: KEY, base_url: gateway.origin };
const connections = { polled: connection, signed: { ...connection, webhook_secret: SECRET } };
const vars = { ...LOCAL_VARS, CONNECTIONS: JSON.stringify(connections) };
const { client } = await forThisFile(startRelay({ vars }));

const answer = (body: object): Behaviour => {
  return { kind: "answer", status: 200, body: JSON.stringify(body) };
};

/** Registers a task with a connection and attaches a job. */
async function attached(provider: keyof typeof connections, jobId: string) {
  const callback_url = receiver.at(`/${provider}`, { kind: "answer", status: 204 });
  const { id, hook_url } = await client.register({ provider, callback_url });
  await client.ask("POST", `/v1/tasks/${id}/upstream`, { provider, id: jobId });
  return { id, hookUrl: hook_url };
}

it.concurrent("a gateway's hook, signed with the bytes of the webhook secret's text, ends the task without a poll, even if the job id in it lacks base64 padding", async () => {
  const { id, hookUrl } = await attached("signed", "video_bGl0ZWxsbTphYmM=");
  const urls = ["https://cdn.example.com/v.mp4"];
  const video = { id: "video_bGl0ZWxsbTphYmM", object: "video", status: "completed", urls };
  const body = JSON.stringify({ object: "event", type: "video.completed", data: video });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const mac = createHmac("sha256", SECRET).update(`evt_1.${timestamp}.${body}`).digest("base64");
  const head = { "webhook-id": "evt_1", "webhook-timestamp": timestamp };
  const send = (signature: string) => {
    const headers = { ...head, "webhook-signature": signature };
    return fetch(hookUrl, { method: "POST", headers, body });
  };
  expect(
    (await send(`v1,${mac.replace(/^./, (first) => (first === "A" ? "B" : "A"))}`)).status,
  ).toBe(401);
  expect((await send(`v1,${mac}`)).status).toBe(200);
  await client.settled(id);
  expect(receiver.postsAt("/signed").map((post) => JSON.parse(post.body))).toMatchObject([
    { id, status: "completed", output: { urls } },
  ]);
  expect(gateway.posts.filter(({ path }) => path.includes("bGl0ZWxsbTphYmM"))).toEqual([]);
});

it.concurrent("a gateway is polled at its connection's base URL with the connection's key; redirects are not followed, and a link without a host gets the gateway's host", async () => {
  const path = "/v1/videos/video%2F1";
  const Location = gateway.at("/elsewhere", answer({ id: "video/1", status: "failed" }));
  const video = { id: "video/1", object: "video", seconds: "8", size: "1280x720" };
  gateway.at(
    path,
    { kind: "answer", status: 302, headers: { Location } },
    answer({ ...video, status: "in_progress", progress: 42 }),
    answer({ ...video, status: "completed", url: "/files/v.mp4", usage: { cost: 0.4 } }),
  );
  const { id } = await attached("polled", "video/1");
  await client.settled(id, POLLED_WITHIN_MS);
  expect(receiver.postsAt("/polled").map((post) => JSON.parse(post.body))).toMatchObject([
    {
      status: "completed",
      output: {
        urls: [`${gateway.origin}/files/v.mp4`],
        metadata: { duration: 8, ratio: "16:9", resolution: "720p" },
      },
    },
  ]);
  const sent = gateway
    .postsAt(path)
    .map(({ method, headers }) => [method, headers["authorization"]]);
  expect(sent).toEqual(Array.from({ length: 3 }, () => ["GET", `Bearer ${KEY}`]));
  expect(gateway.postsAt("/elsewhere")).toEqual([]);
  const { json } = await client.ask("GET", `/v1/tasks/${id}`);
  expect(json).toMatchObject({ usage: { cost: 0.4 } });
});
