import { execFile } from "node:child_process";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import OpenAI from "openai";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { FakeNewApi, outputOf } from "./fake-new-api.ts";

const run = promisify(execFile);
/** Time in milliseconds within which the second poll of a job finds its end: the first is made after 4 s. */
const CALLED_BACK_WITHIN_MS = 60_000;
const ALICE = "sk-process-test-alice-4711";
const BOB = "sk-process-test-bob-4712";
const NEW_SECRET = "process-test-newer-relay-secret-0123456789";

const gateway = await forThisFile(FakeNewApi.start({ [ALICE]: "alice", [BOB]: "bob" }));
const receiver = await forThisFile(Receiver.start());
/** A relay that has no key of the gateway, and lets accounts submit with their own keys. */
const VARS = {
  ...LOCAL_VARS,
  CONNECTIONS: JSON.stringify({ gateway: { provider: "newapi", base_url: gateway.origin } }),
  OFFERS: JSON.stringify([{ connection: "gateway", key: "customer", models: ["*"] }]),
};

/** Creates an account at a relay, and returns its API key. */
async function aKey({ client }: Workerd, account: string): Promise<string> {
  await client.ask("POST", "/v1/accounts", { id: account });
  const { json } = await client.ask("POST", `/v1/accounts/${account}/keys`, {});
  return z.object({ key: z.string() }).parse(json).key;
}

const relay = await forThisFile(Workerd.start({ vars: VARS }));
const relayKey = await aKey(relay, "acme");
const base = `${relay.url}/v1/submit/gateway`;

/** Returns the URLs of the outputs in the callback to a path, which is waited for. */
async function outputsAt(path: string): Promise<readonly string[]> {
  await vi.waitUntil(() => receiver.postsAt(path).length > 0, CALLED_BACK_WITHIN_MS);
  const Callback = z.object({ output: z.object({ urls: z.array(z.string()) }) });
  return Callback.parse(JSON.parse(receiver.postsAt(path)[0]?.body ?? "")).output.urls;
}

/** The call of new-api's documentation, whose base URL is the relay's, and which has one more header. */
const CALL = `
curl -sS $base/v1/video/generations -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -H "Relay-Key: $RELAY_KEY" -H "Relay-Callback-Url: $callback_url" \\
  -d '{"model": "doubao-seedance-2-0-260128", "prompt": "a fox", "duration": 5}'`;

it("two users of a new-api gateway get callbacks by changing only the base URL and adding headers, and the gateway sees only their own keys", async () => {
  const submitted = async (key: string, path: string) => {
    const callback_url = receiver.at(path, { kind: "answer", status: 200 });
    const env = { ...process.env, base, KEY: key, RELAY_KEY: relayKey, callback_url };
    const { stdout } = await run("bash", ["-c", CALL], { env });
    return z.looseObject({ task_id: z.string() }).parse(JSON.parse(stdout)).task_id;
  };
  const [alices, bobs] = [await submitted(ALICE, "/alice"), await submitted(BOB, "/bob")];
  expect(await outputsAt("/alice")).toEqual([outputOf(`${alices}.mp4`)]);
  expect(await outputsAt("/bob")).toEqual([outputOf(`${bobs}.mp4`)]);
  const pollsOf = (id: string) => [...new Set(gateway.keysOf("GET", new RegExp(`${id}$`)))];
  expect([pollsOf(alices), pollsOf(bobs)]).toEqual([[`Bearer ${ALICE}`], [`Bearer ${BOB}`]]);
  const seen = JSON.stringify(gateway.received);
  expect(seen).not.toContain(relayKey);
  expect(seen).not.toContain("relay-key");
});

/** Returns the options of a call whose callback goes to a path of the receiver. */
function calledBackAt(path: string) {
  const url = receiver.at(path, { kind: "answer", status: 200 });
  return { headers: { "Relay-Callback-Url": url } };
}

it("the openai SDK, with a user's own sk-… key, another base URL and one default header, submits images and videos to a gateway through the relay", async () => {
  const openai = new OpenAI({
    apiKey: ALICE,
    baseURL: `${base}/v1`,
    defaultHeaders: { "Relay-Key": relayKey },
    maxRetries: 0,
  });
  const image = { prompt: "a fox", model: "fox-image" };
  const { data } = await openai.images.generate(image, calledBackAt("/image"));
  expect(data?.map(({ url }) => url)).toEqual([outputOf("alice.png")]);
  expect(await outputsAt("/image")).toEqual([outputOf("alice.png")]);
  const { id } = await openai.videos.create({ prompt: "a fox" }, calledBackAt("/video"));
  expect(await outputsAt("/video")).toEqual([outputOf(`${id}.mp4`)]);
});

it("when a gateway does not know a customer's key, the caller gets the gateway's own refusal, and GET /healthz does not report that a key was refused", async () => {
  const response = await fetch(`${base}/v1/images/generations`, {
    method: "POST",
    headers: { Authorization: "Bearer sk-unknown", "Relay-Key": relayKey },
    body: JSON.stringify({ model: "fox-image", prompt: "a fox" }),
  });
  expect([response.status, await response.json()]).toEqual([
    401,
    { error: { message: "Invalid token" } },
  ]);
  const health = await relay.client.ask("GET", "/healthz");
  expect(JSON.stringify(health.json)).not.toContain("refused");
});

it("a customer's key is stored only encrypted, still works after kill -9 and a rotation of RELAY_SECRET, and is in no log line", async () => {
  await using own = await Workerd.start({ vars: VARS });
  const key = await aKey(own, "acme");
  const callback = receiver.at("/rotated", { kind: "answer", status: 200 });
  const submitted = await fetch(`${own.url}/v1/submit/gateway/v1/videos`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${BOB}`,
      "Relay-Key": key,
      "Relay-Callback-Url": callback,
    },
    body: JSON.stringify({ model: "fox-video", prompt: "a fox" }),
  });
  const { id } = z.looseObject({ id: z.string() }).parse(await submitted.json());
  const taskId = submitted.headers.get("Relay-Task-Id") ?? "";
  await own.kill9();
  const files: Buffer[] = [];
  for await (const file of glob("**/*", { cwd: own.storage, withFileTypes: true })) {
    if (file.isFile()) files.push(await readFile(join(file.parentPath, file.name)));
  }
  const disk = Buffer.concat(files);
  expect([disk.includes(taskId), disk.includes("sealedWith"), disk.includes(BOB)]).toEqual([
    true,
    true,
    false,
  ]);
  await own.restart({ ...VARS, RELAY_SECRET: `${NEW_SECRET} ${VARS.RELAY_SECRET}` });
  expect(await outputsAt("/rotated")).toEqual([outputOf(`${id}.mp4`)]);
  expect([own.output.includes(BOB), own.output.includes(key)]).toEqual([false, false]);
});

it("a submission with a customer's key of a gateway may have an operator key, in place of an account's key, in the header Relay-Key", async () => {
  const path = "/operator";
  const response = await fetch(`${base}/v1/images/generations`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${BOB}`,
      "Relay-Key": OPERATOR_KEY,
      "Relay-Callback-Url": receiver.at(path, { kind: "answer", status: 200 }),
    },
    body: JSON.stringify({ model: "fox-image", prompt: "a fox" }),
  });
  expect(response.status).toBe(200);
  expect(await outputsAt(path)).toEqual([outputOf("bob.png")]);
});
