import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { PASSED_CALL } from "../../scripts/cost/lives.ts";
import { CallObject } from "../../src/objects/call/call-object.ts";
import { aRequest, callWith } from "../worker/client.ts";
import { START, until, useClock } from "../worker/clock.ts";
import { lose } from "../worker/lost-calls.ts";
import { restart, untilIdle } from "../worker/objects.ts";
import { answering, type Site } from "../worker/outside.ts";
import { isolateOf, lastPassing } from "../worker/isolates.ts";
import { answerFrom } from "../worker/started.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { aGateway, CALLING, GATEWAY, readCalled } from "./called.ts";
import { bucket, bytesOf, copiesOf, pathOfLink } from "./copied.ts";
import { bytesIn } from "./linked.ts";

useClock();

const PATH = "/v1/submit/newapi/v1/images/generations";
const BODY = JSON.stringify({ model: "gpt-image-1", prompt: "a fox" });
/** The beginning of a PNG, and more bytes. */
const picture = (bytes: number) => bytesOf(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${"p".repeat(bytes)}`);

function answerWith(...pictures: readonly Uint8Array[]): string {
  const data = pictures.map((bytes) => ({ b64_json: btoa(String.fromCharCode(...bytes)) }));
  return JSON.stringify({ created: 1_767_225_600, data, usage: { total_tokens: 7 } });
}

/** A gateway that answers with this text. */
const gateway =
  (text: string): Site =>
  () =>
    new Response(text, { headers: { "Content-Type": "application/json" } });

/** Submits a call for pictures and waits for the answer. Nothing reads the answer but the test. */
async function paint(bindings: object = CALLING, more: Readonly<Record<string, string>> = {}) {
  const id = crypto.randomUUID();
  await restart(id, bindings);
  const headers = { "Relay-Task-Id": id, "Relay-Callback-Url": CALLBACK_URL, ...more };
  const request = aRequest(PATH, { body: BODY, headers });
  return { id, headers, response: await answerFrom(await isolateOf(bindings), request) };
}

/** Returns what the object of the last call stores. */
function storedByLast() {
  return runInDurableObject(lastPassing(), async (_, { storage }) => ({
    keys: Array.from(storage.kv.list(), ([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

/** Returns the bucket with this method in place of its own. */
function bucketWith(methods: { readonly put: unknown }): object {
  return new Proxy(bucket(), {
    get: (all, name) => {
      if (name === "put") return methods.put;
      const member: unknown = Reflect.get(all, name);
      return typeof member === "function" ? member.bind(all) : member;
    },
  });
}

const NOTHING = { keys: [], alarm: null };
const namesOf = async (id: string) => (await copiesOf(id)).map(([key]) => key.split("/").at(-1));

it.each([
  ["short", 2_000],
  ["long", 90_000],
])(
  "a picture in base64 in a %s answer reaches the waiting caller as it is, and becomes the output of the task",
  async (_, bytes) => {
    const text = answerWith(picture(bytes), picture(bytes + 1));
    const outside = aGateway(gateway(text));
    const { id, response } = await paint();
    expect([response.status, await response.text()]).toEqual([200, text]);
    await untilIdle(id);
    const { output } = await readCalled(id);
    const links = output?.urls ?? [];
    const files = links.map((link) => callWith(CALLING, pathOfLink(link), { key: null }));
    const contents = await Promise.all(files.map(async (file) => bytesIn(await file)));
    expect(contents).toEqual([picture(bytes), picture(bytes + 1)]);
    expect(outside.sentTo(CALLBACK_URL).map(({ body }) => JSON.parse(body))).toMatchObject([
      { id, status: "completed", output: { urls: links } },
    ]);
    expect(await namesOf(id)).toEqual(["0", "1", "2"]);
    expect(await storedByLast()).toEqual(NOTHING);
    expect(outside.sentTo(GATEWAY).length).toBe(1);
  },
);

it("the picture in a long answer becomes the output of the task although its caller has gone", async () => {
  aGateway(gateway(answerWith(picture(90_000))));
  const { id, response } = await paint();
  await response.body?.cancel();
  await until(async () => (await readCalled(id)).status === "completed");
  expect(await namesOf(id)).toEqual(["0", "1"]);
});

it("of an answer with links, neither the answer is kept nor anything stored by the object of the call", async () => {
  aGateway(answering({ data: [{ url: "https://cdn.example.net/fox.png" }] }));
  const { id, response } = await paint();
  expect(response.status).toBe(200);
  expect(await readCalled(id)).toMatchObject({ status: "completed" });
  expect(await copiesOf(id)).toEqual([]);
  expect(await storedByLast()).toEqual(NOTHING);
});

it("a caller who repeats a call gets a stored answer with pictures as the first caller has got it", async () => {
  const text = answerWith(picture(500));
  aGateway(gateway(text));
  const { response, headers } = await paint();
  expect(await response.text()).toBe(text);
  const again = await callWith(CALLING, PATH, { body: BODY, headers });
  expect([again.headers.get("Idempotent-Replayed"), await again.text()]).toEqual(["true", text]);
});

it("without PUBLIC_URL, nothing of an answer that is passed on is stored, and the task fails as a success without output", async () => {
  aGateway(gateway(answerWith(picture(90_000))));
  const { id, response } = await paint({ ...CALLING, PUBLIC_URL: "" });
  expect((await response.text()).length).toBeGreaterThan(90_000);
  expect(await readCalled(id)).toMatchObject({ error: { code: "upstream_error" } });
  expect(await copiesOf(id)).toEqual([]);
});

it("when the bucket does not take a picture, the waiting caller gets the whole answer all the same, and the task fails with an unknown outcome", async () => {
  const text = answerWith(picture(90_000));
  aGateway(gateway(text));
  const { id, response } = await paint({ ...CALLING, OUTPUTS: bucketWith({ put: lose }) });
  expect(await response.text()).toBe(text);
  await until(async () => (await readCalled(id)).status === "failed");
  expect(await readCalled(id)).toMatchObject({ error: { code: "submit_unknown" } });
  await until(async () => (await storedByLast()).keys.length === 0);
});

it("when the second picture of an answer is broken, the task fails with an unknown outcome, and the first one is deleted", async () => {
  aGateway(gateway(answerWith(picture(90_000), picture(1_000)).replace(/.{40}"\}\],/, '!!"}],')));
  const { id, response } = await paint();
  await response.text();
  expect(await readCalled(id)).toMatchObject({ error: { code: "submit_unknown" } });
  await until(async () => (await copiesOf(id)).length === 0);
  await until(async () => (await storedByLast()).keys.length === 0);
});

it("before a picture of an answer is stored, the object of the call stores what its alarm needs to delete the picture after a crash", async () => {
  // Each side looks for itself, because neither may go on in the other's context.
  let [isStored, isOver] = [false, false];
  aGateway(gateway(answerWith(picture(90_000))));
  const put = async (...file: Parameters<R2Bucket["put"]>) => {
    const object = await bucket().put(...file);
    isStored = true;
    await until(() => isOver);
    return object;
  };
  const { id, response } = await paint({ ...CALLING, OUTPUTS: bucketWith({ put }) });
  const text = response.text();
  await until(() => isStored);
  expect(await namesOf(id)).toEqual(["1"]);
  expect(await storedByLast()).toEqual({ keys: ["call"], alarm: START + 12 * 60_000 });
  await runDurableObjectAlarm(lastPassing());
  expect(await readCalled(id)).toMatchObject({ error: { code: "submit_unknown" } });
  expect(await copiesOf(id)).toEqual([]);
  expect(await storedByLast()).toEqual(NOTHING);
  // The object goes on after it, because it has not crashed.
  isOver = true;
  await text;
  expect(await readCalled(id)).toMatchObject({ error: { code: "submit_unknown" } });
  await until(async () => (await copiesOf(id)).length === 0);
});

it.each([
  ["without files", answering({ data: [{ url: "https://cdn.example.net/fox.png" }] }), 0],
  ["with a file", gateway(answerWith(picture(2_000))), PASSED_CALL.rowsWithFiles],
])(
  "docs/cost.md states what the object uses that makes a call whose answer is passed on, %s",
  async (_, site, rowsWritten) => {
    const requests = (["passOn", "stopWaiting", "alarm"] as const).map((name) =>
      vi.spyOn(CallObject.prototype, name),
    );
    const rows: { readonly mock: { readonly calls: readonly unknown[] } }[] = [];
    aGateway(async (...asked) => {
      await runInDurableObject(lastPassing(), (__, { storage }) => {
        const { kv } = storage;
        rows.push(vi.spyOn(kv, "put"), vi.spyOn(kv, "delete"), vi.spyOn(storage, "setAlarm"));
      });
      return site(...asked);
    });
    const { response } = await paint();
    await response.text();
    const [objectRequests, written] = [requests, rows].map((spies) =>
      spies.reduce((sum, { mock }) => sum + mock.calls.length, 0),
    );
    expect(rows.length).toBe(3);
    expect([objectRequests, written]).toEqual([PASSED_CALL.objectRequests, rowsWritten]);
  },
);
