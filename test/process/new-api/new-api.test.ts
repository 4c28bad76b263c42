import { randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { FakeGateway, IMAGE } from "./fake-gateway.ts";
import { offersOfPage, runOfPage } from "./page-commands.ts";

const USER_KEY = "sk-process-test-user-key";
/** Key of another user of the gateway, which the relay does not know. */
const OWN_KEY = "sk-process-test-own-key";
const CREDITS = 100;
const VIDEO_PRICE = 60;
const LOG_WITHIN_MS = 5_000;

const gateway = await forThisFile(FakeGateway.start({ [USER_KEY]: "acme", [OWN_KEY]: "zoe" }));
const receiver = await forThisFile(Receiver.start());
const callbackUrl = receiver.at("/hook", { kind: "answer", status: 204 });
const relay = await forThisFile(
  startRelay({
    vars: {
      ...LOCAL_VARS,
      NEWAPI_API_KEY: USER_KEY,
      NEWAPI_BASE_URL: gateway.origin,
      OFFERS: offersOfPage(),
    },
  }),
);
const { client } = relay;
await client.ask("POST", "/v1/accounts", { id: "acme" });
await client.ask("POST", "/v1/accounts/acme/grants", { reference: "start", amount: CREDITS });
const Key = z.object({ key: z.string() });
const accountKey = Key.parse((await client.ask("POST", "/v1/accounts/acme/keys", {})).json).key;

const places = {
  relay: relay.url,
  callbackUrl,
  env: { ACCOUNT_KEY: accountKey, USER_KEY: OWN_KEY },
};

/** Submits as the operator. */
async function submit(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${relay.url}/v1/submit/newapi${path}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${OPERATOR_KEY}`,
      "Relay-Callback-Url": callbackUrl,
      "Relay-Task-Id": randomUUID(),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const json: unknown = await response.json();
  return { status: response.status, taskId: response.headers.get("Relay-Task-Id"), json };
}

/** Waits for the log line of a settled task. @returns the numbers of hooks and polls that it states. */
async function foundBy(taskId: string): Promise<string | undefined> {
  const line = new RegExp(`"task.settled".*"${taskId}".*("hooks":\\d+,"polls":\\d+)`);
  return (await vi.waitUntil(() => line.exec(relay.output), LOG_WITHIN_MS))[1];
}

/** Waits for the callback of a task and verifies it. @param owner path of the account whose task it is. */
async function callbacksOf(taskId: string, owner?: string) {
  await client.settled(taskId, 60_000);
  const verify = await client.verifier(owner);
  return receiver.posts.filter(({ headers }) => headers["x-task-id"] === taskId).map(verify);
}

const JobIds = z.object({ task_id: z.string() });
const Balance = z.object({ balance: z.int() });
const videoOf = (jobId: string) => `https://cdn.example.com/${jobId}.mp4`;

it.concurrent("an account submits a video with the command of docs/new-api.md; the job leads to one callback and costs the price of its offer", async () => {
  const video = await runOfPage(places, "/v1/video/generations", "ACCOUNT_KEY");
  const { task_id: jobId } = JobIds.parse(video.body);
  const account = "/v1/accounts/acme";
  expect(await callbacksOf(video.taskId, account)).toMatchObject([
    {
      status: "completed",
      model: "doubao-seedance-2-0-260128",
      output: { urls: [videoOf(jobId)], metadata: { duration: 5 } },
    },
  ]);
  const { json } = await client.ask("GET", account);
  expect(Balance.parse(json).balance).toBe(CREDITS - VIDEO_PRICE);
  const submitted = gateway
    .submissionsOf("seedance-2-0")
    .filter(({ body }) => body.includes("fox"));
  expect(submitted.map(({ key }) => key)).toEqual([USER_KEY]);
});

it.concurrent("a user submits a video with their own key of the gateway and the command of docs/new-api.md; the job leads to one callback and costs nothing", async () => {
  const video = await runOfPage(places, "/v1/video/generations", "Relay-Key");
  const { task_id: jobId } = JobIds.parse(video.body);
  expect(await callbacksOf(video.taskId, "/v1/accounts/acme")).toMatchObject([
    { status: "completed", output: { urls: [videoOf(jobId)] } },
  ]);
  const submitted = gateway.submissionsOf("a hare");
  const polled = gateway.received.filter(({ path }) => path.includes(jobId));
  expect(submitted).toHaveLength(1);
  expect(polled).not.toHaveLength(0);
  for (const { key } of [...submitted, ...polled]) expect(key).toBe(OWN_KEY);
  const task = await client.ask("GET", `/v1/tasks/${video.taskId}`);
  expect(task.json).toMatchObject({ submission: { key: "customer" } });
  expect(task.json).not.toHaveProperty("credits");
});

it.concurrent("a call for images that waits, and is answered with links by the new-api gateway, gets the gateway's answer, and the callback has the links", async () => {
  const { json, taskId } = await submit("/v1/images/generations", { model: "seedream-5-0" });
  expect(json).toMatchObject({ data: [{ url: IMAGE }] });
  expect(await callbacksOf(taskId ?? "")).toMatchObject([
    { status: "completed", model: "seedream-5-0", output: { urls: [IMAGE] } },
  ]);
});

it.concurrent("through a new-api gateway, Ark gets the hook URL in the field metadata, and a hook from Ark makes the relay poll the gateway at once", async () => {
  const model = "doubao-seedance-1-5-pro";
  const metadata = { ratio: "16:9" };
  const { taskId, json } = await submit("/v1/video/generations", { model, metadata });
  const [received] = gateway.submissionsOf(model);
  const Forwarded = z.object({ metadata: z.looseObject({ callback_url: z.string() }) });
  const sent = Forwarded.parse(JSON.parse(received?.body ?? "")).metadata;
  expect(sent).toMatchObject(metadata);
  const hook = { id: "cgt-20261122120000-abcde", model, status: "succeeded" };
  const answer = await fetch(sent.callback_url, { method: "POST", body: JSON.stringify(hook) });
  expect(answer.status).toBe(200);
  const urls = [videoOf(JobIds.parse(json).task_id)];
  expect(await callbacksOf(taskId ?? "")).toMatchObject([
    { status: "completed", output: { urls } },
  ]);
  expect(await foundBy(taskId ?? "")).toBe('"hooks":1,"polls":1');
});

it.concurrent("for a video submitted on Kling's own path at a new-api gateway, the hook URL is not sent in metadata, and the result is found by polls", async () => {
  const body = { model_name: "kling-v2-master", prompt: "a fox", duration: "5" };
  const { taskId, json } = await submit("/kling/v1/videos/text2video", body);
  const [received] = gateway.submissionsOf("kling-v2-master");
  expect(JSON.parse(received?.body ?? "")).toEqual({
    ...body,
    callback_url: expect.stringContaining(`${relay.url}/hooks/newapi/${taskId}/`),
  });
  const output = { urls: [videoOf(JobIds.parse(json).task_id)], metadata: { duration: 5 } };
  expect(await callbacksOf(taskId ?? "")).toMatchObject([{ model: "kling-v2-master", output }]);
});

it.concurrent.each([
  ["refuses with 400", "refused", 400],
  ["has no channel for the model, with 503", "no-channel", 503],
])(
  "when the new-api gateway %s, the gateway's response is passed on to the caller and no task remains",
  async (_, model, status) => {
    const answer = await submit("/v1/videos", { model });
    expect(answer.status).toBe(status);
    const { status: read } = await client.ask("GET", `/v1/tasks/${answer.taskId}`);
    expect(read).toBe(404);
  },
);

it.concurrent.each([
  ["hangs up", "lost"],
  ["is cut off by a proxy with 504", "proxy-timeout"],
])(
  "when the new-api gateway %s, the relay answers the submission with 424 submit_unknown, and the task stays open",
  async (_, model) => {
    const { status, json } = await submit("/v1/videos", { model });
    const task = { status: "pending", submission: { state: "unknown" } };
    expect([status, json]).toMatchObject([424, { code: "submit_unknown", task }]);
  },
);

it.concurrent("when the relay refuses the callback URL of a submission to a new-api gateway, it answers 400 and sends nothing to the gateway", async () => {
  const model = "never-submitted";
  const headers = { "Relay-Callback-Url": "ftp://example.com" };
  expect(await submit("/v1/videos", { model }, headers)).toMatchObject({ status: 400 });
  expect(gateway.submissionsOf(model)).toEqual([]);
});
