import { createHash } from "node:crypto";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { DocumentedWorker } from "../harness/documented-worker.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { FrontWorker } from "./front-worker.ts";

const CLIENT_KEY = "sk-process-test-client-key";
/** API key of the client's user, with which the relay polls. */
const POLL_KEY = "sk-process-test-poll-key";
/** API key of a user who has no callbacks. */
const OTHER_KEY = "sk-process-test-other-key";
const FRONT_KEY = "process-test-front-key";
const MODEL = "doubao-seedance-2-0-260128";
const VIDEOS = "/v1/video/generations";
const LOG_WITHIN_MS = 5000;
const KLING_VIDEOS = "/kling/v1/videos/text2video";

const project = await forThisFile(DocumentedWorker.create("new-api.md"));
const users = { [CLIENT_KEY]: "acme", [POLL_KEY]: "acme", [OTHER_KEY]: "other" };
const gateway = await forThisFile(FakeGateway.start(users));
const connection = { provider: "newapi", key: POLL_KEY, base_url: gateway.origin };
const relayVars = {
  ...LOCAL_VARS,
  OPERATOR_KEYS: `${OPERATOR_KEY} operate:front=${FRONT_KEY}`,
  CONNECTIONS: JSON.stringify({ "gateway-acme": connection }),
};
const relay = await forThisFile(Workerd.start({ vars: relayVars }));
const { client } = relay;
await client.ask("POST", "/v1/accounts", { id: "acme" });
const receiver = await forThisFile(Receiver.start());
const callback_url = receiver.at("/done", { kind: "answer", status: 204 });

const hash = createHash("sha256").update(CLIENT_KEY).digest("hex");
const vars = {
  GATEWAY_URL: gateway.origin,
  RELAY_URL: relay.url,
  RELAY_KEY: FRONT_KEY,
  USERS: JSON.stringify({ [hash]: { provider: "gateway-acme", account: "acme" } }),
};
/** Front Worker with the service binding, through which alone it can reach the relay. */
const bound = await forThisFile(FrontWorker.start(project, vars, relay.url, gateway.origin));
const unbound = await forThisFile(FrontWorker.start(project, vars, null, gateway.origin));

/** Front Worker whose relay has an address at which no server listens. */
const alone = await forThisFile(
  FrontWorker.start(
    project,
    { ...vars, RELAY_URL: new URL(await closedPort()).origin },
    null,
    gateway.origin,
  ),
);

const Answer = z.object({ task_id: z.string() });
const Forwarded = z.object({ metadata: z.object({ callback_url: z.string() }) });
const headersWith = (key: string) => ({
  Authorization: `Bearer ${key}`,
  "Content-Type": "application/json",
});

async function submit(front: FrontWorker, path: string, body: object, key = CLIENT_KEY) {
  const init = { method: "POST", headers: headersWith(key), body: JSON.stringify(body) };
  const response = await fetch(front.url + path, init);
  const taskId = response.headers.get("X-Task-Id");
  return { status: response.status, taskId, text: await response.text() };
}

/** Submits a video with `callback_url`. @returns the ids, and the body that the gateway received. */
async function accepted(front: FrontWorker, path: string, body: object) {
  const { status, taskId, text } = await submit(front, path, { ...body, callback_url });
  expect(status).toBe(200);
  const forwarded: unknown = JSON.parse(gateway.receivedAt(path)[0]?.body ?? "null");
  return { taskId: taskId ?? "", jobId: Answer.parse(JSON.parse(text)).task_id, forwarded };
}

const hookUrlOf = (taskId: string) =>
  expect.stringContaining(`${relay.url}/hooks/gateway-acme/${taskId}/`);

/** Waits for the callback of a task and verifies it. @returns its body and how the result was found. */
async function delivered(taskId: string) {
  await client.settled(taskId);
  const verify = await client.verifier("/v1/accounts/acme");
  const posts = receiver.posts.filter(({ headers }) => headers["x-task-id"] === taskId);
  const found = new RegExp(`"task.settled".*"${taskId}".*("hooks":\\d+,"polls":\\d+)`);
  const line = await vi.waitUntil(() => found.exec(relay.output), LOG_WITHIN_MS);
  return { callbacks: posts.map(verify), found: line[1] };
}

it("the front Worker in docs/new-api.md has at most 60 lines and type-checks", async () => {
  expect(project.source.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  expect(await project.typeErrors()).toBe("");
});

it.concurrent("the result of a video submitted with callback_url by the front Worker is found by the poll that Ark's hook causes; its callback verifies", async () => {
  const submitted = { model: MODEL, prompt: "a fox", duration: 5 };
  const body = { ...submitted, metadata: { ratio: "16:9" } };
  const { taskId, jobId, forwarded } = await accepted(bound, `${VIDEOS}?nudged`, body);
  const metadata = { ratio: "16:9", callback_url: hookUrlOf(taskId) };
  expect(forwarded).toEqual({ ...submitted, metadata });

  const hook = { id: "cgt-20261122120000-abcde", model: MODEL, status: "succeeded" };
  const hookUrl = Forwarded.parse(forwarded).metadata.callback_url;
  const answer = await fetch(hookUrl, { method: "POST", body: JSON.stringify(hook) });
  expect(answer.status).toBe(200);
  const output = { urls: [`https://cdn.example.com/${jobId}.mp4`] };
  expect(await delivered(taskId)).toMatchObject({
    callbacks: [{ id: taskId, status: "completed", model: MODEL, output }],
    found: '"hooks":1,"polls":1',
  });
});

it.concurrent("the result of a video submitted through the front Worker on a Kling path is found by polls alone, and its callback is verified", async () => {
  const body = { model_name: "kling-v2-master", prompt: "a fox", seconds: "5" };
  const { taskId, jobId, forwarded } = await accepted(unbound, `${KLING_VIDEOS}?polled`, body);
  expect(forwarded).toEqual({ ...body, callback_url: hookUrlOf(taskId) });
  const output = { urls: [`https://cdn.example.com/${jobId}.mp4`], metadata: { duration: 5 } };
  expect(await delivered(taskId)).toMatchObject({
    callbacks: [{ id: taskId, status: "completed", model: "kling-v2-master", output }],
    found: '"hooks":0,"polls":1',
  });
});

it.each([
  ["refuses with 400", "is canceled", "refused", 400],
  ["refuses with 503 and JSON of its own", "is canceled", "no-channel", 503],
  ["does not answer", "stays open", "lost", 502],
  ["does not answer because a proxy answers 504", "stays open", "proxy-timeout", 504],
])(
  "a task is canceled if the gateway refuses its submit, and else stays open: if the gateway %s, the task %s",
  async (_, end, model, status) => {
    const answer = await submit(unbound, `/v1/videos?${model}`, { model, callback_url });
    expect(answer).toMatchObject({ status });
    const { json } = await client.ask("GET", `/v1/tasks/${answer.taskId}`);
    const isOpen = end === "stays open";
    const canceled = { status: "failed", error: { code: "canceled" } };
    expect(json).toMatchObject(isOpen ? { status: "pending" } : canceled);
    if (isOpen)
      await vi.waitUntil(() => unbound.output.includes(`${answer.taskId}`), LOG_WITHIN_MS);
  },
);

it.each([
  ["with a key that USERS does not contain", 403, bound, OTHER_KEY, callback_url],
  ["with a callback_url that the relay refuses", 400, bound, CLIENT_KEY, "ftp://example.com"],
  ["while the relay is unreachable", 503, alone, CLIENT_KEY, callback_url],
])(
  "the front Worker answers a submit %s with %i and does not pass the submit to the gateway",
  async (_, status, front, key, url) => {
    const path = `/v1/videos?answered-${status}`;
    const answer = await submit(front, path, { model: MODEL, callback_url: url }, key);
    expect(answer).toMatchObject({ status, taskId: null });
    expect(gateway.receivedAt(path)).toEqual([]);
  },
);

it("the front Worker repeats a registration answered 500; it logs a job that the relay refuses, and then still returns the gateway's answer", async () => {
  await using failing = await Receiver.start();
  const body = JSON.stringify({ hook_url: "https://relay.example.com/hooks/x" });
  const statuses = [500, 201].map((status) => ({ kind: "answer", status, body }) as const);
  failing.at("/v1/tasks", ...statuses);
  const failingVars = { ...vars, RELAY_URL: failing.origin };
  await using front = await FrontWorker.start(project, failingVars, null, gateway.origin);
  const { taskId, jobId } = await accepted(front, "/v1/videos?unattached", { model: MODEL });
  const paths = ["/v1/tasks", "/v1/tasks", `/v1/tasks/${taskId}/upstream`];
  expect(failing.posts.map(({ path }) => path)).toEqual(paths);
  const isLogged = () => [taskId, jobId].every((id) => front.output.includes(id));
  await vi.waitUntil(isLogged, LOG_WITHIN_MS);
});

const post = (body: string) => ({ method: "POST", body });
const MULTIPART = { "Content-Type": "multipart/form-data; boundary=b" };

it.each([
  ["a submit without callback_url", VIDEOS, post('{"model": "m",  "seed": 9007199254740993}'), {}],
  ["a submit whose callback_url is null", "/v1/videos", post('{"callback_url": null}'), {}],
  ["a submit whose body is no JSON", VIDEOS, post(`{"callback_url": "${callback_url}"`), {}],
  ["a multipart submit", "/v1/videos", post('--b\r\n…; name="callback_url"\r\n'), MULTIPART],
  ["another POST", "/v1/chat/completions", post(`{"callback_url": "${callback_url}"}`), {}],
  ["a GET", "/v1/videos", { method: "GET" }, {}],
])(
  "the front Worker passes each request but a JSON submit with callback_url unchanged to the gateway: %s",
  async (name, pathname, request, type) => {
    const path = `${pathname}?${encodeURIComponent(name)}`;
    const headers = { ...headersWith(CLIENT_KEY), ...type };
    const response = await fetch(bound.url + path, { ...request, headers });
    expect([response.status, response.headers.get("X-Task-Id")]).toEqual([200, null]);
    const received = { body: "", ...request, path, contentType: headers["Content-Type"] };
    expect(gateway.receivedAt(path)).toEqual([received]);
  },
);
