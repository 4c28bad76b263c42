import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { FrontProject, type FrontWorker } from "./front-worker.ts";

const CLIENT_KEY = "sk-process-test-client-key";
/** A key of the client's user, with which the relay polls. */
const POLL_KEY = "sk-process-test-poll-key";
/** A key of a user who has no callbacks. */
const OTHER_KEY = "sk-process-test-other-key";
const FRONT_KEY = "process-test-front-key";
const MODEL = "doubao-seedance-2-0-260128";
const VIDEOS = "/v1/video/generations";
const KLING_VIDEOS = "/kling/v1/videos/text2video";

const project = await forThisFile(FrontProject.create());
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
/** With the service binding, and nothing else to reach the relay by. */
const bound = await forThisFile(project.start(vars, relay.url, gateway.origin));
const unbound = await forThisFile(project.start(vars, null, gateway.origin));

const Answer = z.object({ task_id: z.string() });
const Forwarded = z.looseObject({ metadata: z.object({ callback_url: z.string() }) });

/** Posts a body, as JSON unless it is text, with the client's key. */
async function submit(front: FrontWorker, path: string, body: object | string, headers = {}) {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const own = { Authorization: `Bearer ${CLIENT_KEY}`, "Content-Type": "application/json" };
  const init = { method: "POST", headers: { ...own, ...headers }, body: sent };
  const response = await fetch(front.url + path, init);
  const text = await response.text();
  return { status: response.status, taskId: response.headers.get("X-Task-Id"), text };
}

/** Submits with `callback_url`. @returns the ids, and what the gateway received. */
async function accepted(front: FrontWorker, path: string, body: object) {
  const { status, taskId, text } = await submit(front, path, { ...body, callback_url });
  expect(status).toBe(200);
  const forwarded: unknown = JSON.parse(gateway.receivedAt(path)[0]?.body ?? "null");
  return { taskId: taskId ?? "", jobId: Answer.parse(JSON.parse(text)).task_id, forwarded };
}

const hookUrlOf = (taskId: string) =>
  expect.stringContaining(`${relay.url}/hooks/gateway-acme/${taskId}/`);

/** Waits for the callback of a task. @returns its verified body, and how the result was found. */
async function delivered(taskId: string) {
  await client.settled(taskId);
  const verify = await client.verifier("/v1/accounts/acme");
  const posts = receiver.posts.filter(({ headers }) => headers["x-task-id"] === taskId);
  const line = relay.output
    .split("\n")
    .find((each) => /"task\.settled"/.test(each) && each.includes(taskId));
  const { hooks, polls } = z
    .object({ hooks: z.int(), polls: z.int() })
    .parse(JSON.parse(line?.slice(line.indexOf("{")) ?? "null"));
  return { callbacks: posts.map(verify), hooks, polls };
}

it(`the front Worker in docs/new-api.md has at most 60 lines and type-checks`, async () => {
  expect(project.source.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  expect(await project.typeErrors()).toBe("");
});

it.concurrent("a video submitted through the front Worker with callback_url is found by the poll that the hook of Ark causes, and its callback is verified", async () => {
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
    hooks: 1,
    polls: 1,
  });
  expect(await client.read(taskId)).toMatchObject({ account: "acme" });
});

it.concurrent("a video submitted through the front Worker on a Kling path is found by polls alone, and its callback is verified", async () => {
  const body = { model_name: "kling-v2-master", prompt: "a fox", seconds: "5" };
  const { taskId, jobId, forwarded } = await accepted(unbound, `${KLING_VIDEOS}?polled`, body);
  expect(forwarded).toEqual({ ...body, callback_url: hookUrlOf(taskId) });
  const output = { urls: [`https://cdn.example.com/${jobId}.mp4`], metadata: { duration: 5 } };
  expect(await delivered(taskId)).toMatchObject({
    callbacks: [{ id: taskId, status: "completed", model: "kling-v2-master", output }],
    hooks: 0,
    polls: 1,
  });
});

it.each([
  ["refuses with 400", "refused", 400, "failed"],
  ["refuses with 503 in its own JSON", "no-channel", 503, "failed"],
  ["does not answer", "lost", 502, "pending"],
  ["is cut off by a proxy that answers 504", "proxy-timeout", 504, "pending"],
])(
  "a submit with callback_url that the gateway %s cancels its task only if there is certainly no job",
  async (_, model, status, expected) => {
    const answer = await submit(unbound, `/v1/videos?${model}`, { model, callback_url });
    expect(answer).toMatchObject({ status });
    const { json } = await client.ask("GET", `/v1/tasks/${answer.taskId}`);
    const isCanceled = expected === "failed";
    expect(json).toMatchObject({
      status: expected,
      ...(isCanceled && { error: { code: "canceled" } }),
    });
    expect(unbound.output.includes(answer.taskId ?? "")).toBe(!isCanceled);
  },
);

it.each([
  ["an API key that USERS does not contain", 403, { Authorization: `Bearer ${OTHER_KEY}` }, {}],
  ["a callback_url that the relay refuses", 400, {}, { callback_url: "ftp://client.example.com" }],
])(
  "a submit through the front Worker with %s is answered %i, and the gateway is not asked",
  async (_, status, headers, changes) => {
    const path = `/v1/videos?answered-${status}`;
    const body = { model: MODEL, callback_url, ...changes };
    expect(await submit(bound, path, body, headers)).toMatchObject({ status, taskId: null });
    expect(gateway.receivedAt(path)).toEqual([]);
  },
);

it("a submit with callback_url while the relay is unreachable is answered 503, and the gateway is not asked", async () => {
  const lost = { ...vars, RELAY_URL: new URL(await closedPort()).origin };
  await using front = await project.start(lost, null, gateway.origin);
  const path = "/v1/videos?unreachable";
  const answer = await submit(front, path, { model: MODEL, callback_url });
  expect(answer).toMatchObject({ status: 503, taskId: null });
  expect(gateway.receivedAt(path)).toEqual([]);
});

it("a submit is registered again after a 500 of the relay, and a job that the relay does not accept is answered as the gateway did and logged", async () => {
  await using failing = await Receiver.start();
  const created = JSON.stringify({ hook_url: "https://relay.example.com/hooks/x" });
  failing.at(
    "/v1/tasks",
    { kind: "answer", status: 500 },
    { kind: "answer", status: 201, body: created },
  );
  await using front = await project.start(
    { ...vars, RELAY_URL: failing.origin },
    null,
    gateway.origin,
  );
  const { taskId, jobId } = await accepted(front, "/v1/videos?unattached", { model: MODEL });
  const attached = `/v1/tasks/${taskId}/upstream`;
  expect(failing.posts.map(({ path }) => path)).toEqual(["/v1/tasks", "/v1/tasks", attached]);
  expect(front.output).toContain(taskId);
  expect(front.output).toContain(jobId);
});

const MULTIPART = { "Content-Type": "multipart/form-data; boundary=b" };
const post = (body: string, headers = {}) => ({ method: "POST", body, headers });

it.each([
  ["a submit without callback_url", VIDEOS, post('{"model": "m",  "seed": 9007199254740993}')],
  ["a submit whose callback_url is null", "/v1/videos", post('{"callback_url": null}')],
  ["a submit whose body is no JSON", VIDEOS, post(`{"callback_url": "${callback_url}"`)],
  ["a multipart submit", "/v1/videos", post('--b\r\n…; name="callback_url"\r\n', MULTIPART)],
  ["another POST", "/v1/chat/completions", post(`{"callback_url": "${callback_url}"}`)],
  ["a GET", "/v1/videos", { method: "GET", headers: {} }],
])("%s passes the front Worker unchanged", async (name, pathname, request) => {
  const path = `${pathname}?${encodeURIComponent(name)}`;
  const own = { Authorization: `Bearer ${CLIENT_KEY}`, "Content-Type": "application/json" };
  const headers = new Headers({ ...own, ...request.headers });
  const response = await fetch(bound.url + path, { ...request, headers });
  expect([response.status, response.headers.get("X-Task-Id")]).toEqual([200, null]);
  const received = {
    body: "",
    ...request,
    path,
    headers: undefined,
    contentType: headers.get("Content-Type"),
  };
  expect(gateway.receivedAt(path)).toEqual([received]);
});
