import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { CHAT, FakeGateway, PICTURE, SPEECH, TRANSCRIPTION } from "./fake-gateway.ts";
import { exampleOfPage, offersOfPage, runOfPage } from "./page-commands.ts";

const USER_KEY = "sk-process-test-user-key";
/** Key of another user of the gateway, which the relay does not know. */
const OWN_KEY = "sk-process-test-own-key";
const ACCOUNT = "/v1/accounts/acme";
const CREDITS = 100;
const CALLED_BACK_WITHIN_MS = 30_000;
const PNG = "image/png";

const gateway = await forThisFile(FakeGateway.start({ [USER_KEY]: "acme", [OWN_KEY]: "zoe" }));
const receiver = await forThisFile(Receiver.start());
const relay = await forThisFile(
  WranglerDev.start({
    vars: (url) => ({
      ...LOCAL_VARS,
      PUBLIC_URL: url,
      NEWAPI_API_KEY: USER_KEY,
      NEWAPI_BASE_URL: gateway.origin,
      OFFERS: offersOfPage(),
    }),
    hasIndex: false,
    hasOutputs: true,
  }),
);
const { client } = relay;
await client.ask("POST", "/v1/accounts", { id: "acme" });
await client.ask("POST", `${ACCOUNT}/grants`, { reference: "start", amount: CREDITS });
const Key = z.object({ key: z.string() });
const accountKey = Key.parse((await client.ask("POST", `${ACCOUNT}/keys`, {})).json).key;
const verify = await client.verifier(ACCOUNT);

const cwd = mkdtempSync(join(tmpdir(), "task-relay-new-api-"));
writeFileSync(join(cwd, "fox.png"), PICTURE);
writeFileSync(join(cwd, "fox.mp3"), SPEECH);
afterAll(() => rmSync(cwd, { recursive: true }));

const env = { ACCOUNT_KEY: accountKey, USER_KEY: OWN_KEY };
const callbackUrl = receiver.at("/hook", { kind: "answer", status: 204 });
const places = { relay: relay.url, callbackUrl, env, cwd };

const Completed = z.looseObject({
  status: z.literal("completed"),
  output: z.looseObject({ urls: z.tuple([z.string()]) }),
});
const Callback = z.looseObject({ output: z.looseObject({ metadata: z.looseObject({}) }) });
const Balance = z.object({ balance: z.int() });

/** Waits for the only callback of a task, and returns the link in it. */
async function linkOf(taskId: string): Promise<string> {
  const isOfTask = ({ headers }: (typeof receiver.posts)[number]) =>
    headers["x-task-id"] === taskId;
  await vi.waitUntil(() => receiver.posts.some(isOfTask), CALLED_BACK_WITHIN_MS);
  const [callback, ...others] = receiver.posts.filter(isOfTask);
  expect(others).toEqual([]);
  return Completed.parse(callback && verify(callback)).output.urls[0];
}

/** Reads the upstream's answer to the call of a task with the command of the page. */
async function answerOf(TASK_ID: string): Promise<unknown> {
  return (await runOfPage({ ...places, env: { ...env, TASK_ID } }, "/answer")).body;
}

async function balance(): Promise<number> {
  return Balance.parse((await client.ask("GET", ACCOUNT)).json).balance;
}

/** Returns the calls that the gateway has got at a path with a key. */
function callsAt(path: string, key: string) {
  return gateway.received.filter((call) => call.path === path && call.key === key);
}

const json = (value: object) => Buffer.from(JSON.stringify(value));

it.each([
  ["/v1/images/generations", PNG, PICTURE, 5],
  ["/v1/images/edits", PNG, PICTURE, 5],
  ["/v1/audio/speech", "audio/mpeg", SPEECH, 1],
  ["/v1/audio/transcriptions", "application/json", json(TRANSCRIPTION), 1],
  ["/v1/chat/completions", "application/json", json(CHAT), 2],
])(
  "an account makes a call at %s with the command of docs/new-api.md: it gets its task at once, one callback has the link of the output, and the call is made once and costs the price of its offer",
  async (path, type, bytes, price) => {
    const before = await balance();
    const { taskId, body } = await runOfPage(places, `/submit/newapi${path} `, "ACCOUNT_KEY");
    expect(body).toMatchObject({ status: "pending", submission: { state: "queued" } });
    const file = await fetch(await linkOf(taskId));
    expect(file.headers.get("Content-Type")).toBe(type);
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
    expect(callsAt(path, USER_KEY)).toHaveLength(1);
    expect(await balance()).toBe(before - price);
  },
);

it("the first command of docs/new-api.md gets the headers that the page shows, and the command for the answer the gateway's JSON with the link in place of base64", async () => {
  const { taskId, output } = await runOfPage(places, "Prefer", "order-1043");
  expect(output).toMatch(/^HTTP\/1.1 202 Accepted\r\n/);
  expect(output).toContain(`Location: /v1/tasks/${taskId}\r\n`);
  expect(output).toMatch(/^Preference-Applied: respond-async\r$/im);
  const url = await linkOf(taskId);
  expect(await answerOf(taskId)).toMatchObject({
    created: 1788400582,
    data: [{ url, revised_prompt: "a fox" }],
    usage: { total_tokens: 281 },
  });
});

it("a user makes a slow call with their own key of the gateway and the command of docs/new-api.md; it leads to one callback and costs nothing", async () => {
  const before = await balance();
  const path = "/v1/images/generations";
  const { taskId } = await runOfPage(places, path, "Relay-Key");
  const file = await fetch(await linkOf(taskId));
  expect(file.headers.get("Content-Type")).toBe(PNG);
  expect(callsAt(path, OWN_KEY)).toHaveLength(1);
  expect(await balance()).toBe(before);
});

it("the example of a callback in docs/new-api.md has the members and the metadata of a real one", async () => {
  const { taskId } = await runOfPage(places, "Prefer", "order-1043");
  await linkOf(taskId);
  const sent = receiver.posts.find(({ headers }) => headers["x-task-id"] === taskId);
  const real = Callback.parse(JSON.parse(sent?.body ?? "null"));
  const shown = Callback.parse(JSON.parse(exampleOfPage("completed")));
  expect(Object.keys(shown)).toEqual(Object.keys(real));
  expect(shown.output.metadata).toEqual(real.output.metadata);
});
