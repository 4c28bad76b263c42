import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf } from "../worker/accounts.ts";
import { callWith, invalid, OPERATOR_KEY, refusal } from "../worker/client.ts";
import { START_S, until, useClock } from "../worker/clock.ts";
import { restart, stored, untilIdle } from "../worker/objects.ts";
import { answering, type Outside, type Site } from "../worker/outside.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import {
  aGateway,
  callLater,
  callObjectOf,
  CALLING,
  formOf,
  GATEWAY,
  GATEWAY_KEY,
  keysOfCall,
  type LaterCall,
  made,
  makeCall,
  readCalled,
  sentOnce,
} from "./called.ts";
import { bytesOf, copiesOf, pathOfLink, streaming } from "./copied.ts";
import { imageBytes, largeImages } from "./large-images.ts";
import { bytesIn } from "./linked.ts";

useClock();

const IMAGES = "/v1/images/generations";
const EDITS = "/v1/images/edits";
const MIB = 1024 * 1024;
const IMAGE_BODY = { model: "gpt-image-1", prompt: "a fox" };
/** The beginning of a PNG, and more bytes. */
const PNG = bytesOf(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${"p".repeat(2_000)}`);
const MP3 = bytesOf(`ID3\x04\0\0\0\0\0\0${"m".repeat(2_000)}`);

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Returns the answer to a call for images, with so many of them in base64. */
function images(count = 1): Site {
  const data = Array.from({ length: count }, () => ({ b64_json: base64(PNG) }));
  return answering({ created: 1_767_225_600, data, usage: { total_tokens: 7 } });
}

const Stored = z.looseObject({ submission: z.looseObject({ answer: z.unknown() }) });

/** Returns the submission that the object of a task stores. */
async function submissionOf(id: string) {
  return Stored.parse((await stored(id)).record).submission;
}

/** Returns how many objects store a call. */
async function storedCalls(): Promise<number> {
  const ids = await listDurableObjectIds(env.CALLS);
  const counts = ids.map((id) =>
    runInDurableObject(env.CALLS.get(id), (_, { storage }) => [...storage.kv.list()].length),
  );
  return (await Promise.all(counts)).filter((count) => count > 0).length;
}

/** Returns the body of the only callback. */
function callbackOf(outside: Outside): unknown {
  const [callback] = outside.sentTo(CALLBACK_URL);
  return JSON.parse(callback?.body ?? "null");
}

describe("a call with Prefer: respond-async", () => {
  it("for a job is answered by 202 with its task, and is sent afterwards, once, without this preference", async () => {
    const outside = aGateway(answering({ task_id: "job-1" }));
    const id = crypto.randomUUID();
    const headers = { "Relay-Task-Id": id, Prefer: "respond-async, wait=60" };
    const response = await callLater({ headers });
    expect(response.status).toBe(202);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "preference-applied": "respond-async",
      location: `/v1/tasks/${id}`,
      "relay-task-id": id,
      "retry-after": "5",
      "cache-control": "no-store",
      "content-type": "application/json",
    });
    expect(await response.json()).toMatchObject({
      id,
      status: "pending",
      submission: { state: "queued" },
    });
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await makeCall(id)).toBe(true);
    expect(sentOnce(outside)).toMatchObject({
      method: "POST",
      url: `${GATEWAY}/v1/videos`,
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, prefer: "wait=60" },
      redirect: "manual",
    });
    expect(await readCalled(id)).toMatchObject({ submission: { state: "accepted" } });
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("for an image in base64 ends with a callback that has the link to the image", async () => {
    const outside = aGateway(images());
    const id = await made({ path: IMAGES, body: { ...IMAGE_BODY, response_format: "b64_json" } });
    const { output, usage, submission } = { usage: null, ...(await readCalled(id)) };
    expect({ usage, submission }).toMatchObject({ submission: { state: "accepted" } });
    const [link = "", ...others] = output?.urls ?? [];
    expect(others).toEqual([]);
    expect(callbackOf(outside)).toMatchObject({
      id,
      status: "completed",
      output: { urls: [link] },
    });
    const file = await callWith(CALLING, pathOfLink(link), { key: null });
    expect(file.headers.get("Content-Type")).toBe("image/png");
    expect(await bytesIn(file)).toEqual(PNG);
    expect((await copiesOf(id)).map(([key]) => key.split("/").at(-1))).toEqual(["0", "1"]);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it.each([8 * MIB, 40_000_000])(
    "for an image of %i bytes in base64 ends with an output of the same bytes",
    async (length) => {
      aGateway(streaming(...largeImages(1, length)));
      const id = await made({
        path: IMAGES,
        body: IMAGE_BODY,
        bindings: { ...CALLING, MAX_OUTPUT_MB: "50" },
      });
      const [link = ""] = (await readCalled(id)).output?.urls ?? [];
      const file = await callWith(CALLING, pathOfLink(link), { key: null });
      expect(Buffer.compare(await bytesIn(file), imageBytes(length))).toBe(0);
    },
  );

  it("for speech ends with an output of the upstream's own type", async () => {
    const sound: Site = () => new Response(MP3, { headers: { "Content-Type": "audio/mpeg" } });
    const outside = aGateway(sound);
    const body = { model: "tts-1", input: "a fox", voice: "alloy" };
    const id = await made({ path: "/v1/audio/speech", body });
    const [link = ""] = (await readCalled(id)).output?.urls ?? [];
    expect(callbackOf(outside)).toMatchObject({ id, output: { urls: [link] } });
    const file = await callWith(CALLING, pathOfLink(link), { key: null });
    expect(file.headers.get("Content-Type")).toBe("audio/mpeg");
    expect(await bytesIn(file)).toEqual(MP3);
  });

  it("for a chat ends with the whole answer as its only output", async () => {
    const answer = { choices: [{ message: { role: "assistant", content: "A fox." } }] };
    aGateway(answering(answer));
    const body = { model: "gpt-5", messages: [] };
    const id = await made({ path: "/v1/chat/completions", body });
    const [link = "", ...others] = (await readCalled(id)).output?.urls ?? [];
    expect(others).toEqual([]);
    const file = await callWith(CALLING, pathOfLink(link), { key: null });
    expect(await file.json()).toEqual(answer);
  });

  it("and a form of 20 MB is sent with the same bytes as it came", async () => {
    const outside = aGateway(images());
    const large = new Uint8Array(7 * MIB).fill(7);
    large.set(crypto.getRandomValues(new Uint8Array(64 * 1024)));
    const { body, headers } = await formOf({
      model: "gpt-image-1",
      "image[]": large,
      "image[1]": large,
      mask: large,
      prompt: "a fox",
    });
    const id = await made({ path: EDITS, body, headers });
    const sent = sentOnce(outside);
    expect(sent.headers["content-type"]).toBe(headers["Content-Type"]);
    expect(sent.bytes.length).toBe(body.length);
    expect(Buffer.compare(sent.bytes, body)).toBe(0);
    expect(await readCalled(id)).toMatchObject({ status: "completed", model: "gpt-image-1" });
  });
});

/** Offers of images at a price, and of edits within a limit. */
const OFFERS = JSON.stringify([
  {
    connection: "newapi",
    path: EDITS,
    models: ["gpt-image-*"],
    limits: { "/n": { max: 2 }, "/size": { values: ["1024x1024"], optional: true } },
    price: { credits: 5 },
  },
  { connection: "newapi", models: ["gpt-*", "tts-*"], price: { credits: 5 } },
]);
const OFFERING = { ...CALLING, OFFERS };

/** Creates an account with 20 credits, and returns a function that submits a call as this account. */
async function anAccountWithOffers() {
  const account = await anAccount(20);
  const { key } = await aKey(account);
  const submit = (call: LaterCall = {}) =>
    callLater({
      path: IMAGES,
      body: IMAGE_BODY,
      bindings: OFFERING,
      key,
      ...call,
      headers: { "Idempotency-Key": crypto.randomUUID(), ...call.headers },
    });
  return { account, key, submit };
}

const Id = z.looseObject({ id: z.string() });

async function idIn(response: Response): Promise<string> {
  if (response.status !== 202) throw new Error(await response.text());
  return Id.parse(await response.json()).id;
}

/** Lets the call of a task be made by a relay with offers. */
async function makeOffered(id: string): Promise<void> {
  await restart(id, OFFERING);
  await makeCall(id, OFFERING);
  await untilIdle(id);
}

describe("a call of an account with Prefer: respond-async", () => {
  it("that the upstream refuses fails its task with the upstream's reason, its category and the answer, and the price returns", async () => {
    const error = {
      error: {
        message: "Your request was rejected by the safety system.",
        type: "image_generation_user_error",
        code: "moderation_blocked",
      },
    };
    const outside = aGateway(answering(error, 400));
    const { account, submit } = await anAccountWithOffers();
    const id = await idIn(await submit());
    expect(await balanceOf(account)).toBe(15);
    await makeOffered(id);
    expect(sentOnce(outside).body).toBe(JSON.stringify(IMAGE_BODY));
    expect(callbackOf(outside)).toMatchObject({
      id,
      status: "failed",
      error: { code: "upstream_error", message: error.error.message },
    });
    expect(await readCalled(id)).toMatchObject({
      failure: { category: "moderation", retryable: false },
    });
    expect((await submissionOf(id)).answer).toMatchObject({
      status: 400,
      body: JSON.stringify(error),
    });
    expect(await balanceOf(account)).toBe(20);
  });

  it.each<[string, Site]>([
    ["a 524 of Cloudflare", () => new Response("", { status: 524 })],
    ["no answer", () => Promise.reject(new Error("Network connection lost."))],
  ])("that gets %s fails at once with submit_unknown, and the price returns", async (_, site) => {
    const outside = aGateway(site);
    const { account, submit } = await anAccountWithOffers();
    const id = await idIn(await submit());
    await makeOffered(id);
    expect(await readCalled(id)).toMatchObject({ error: { code: "submit_unknown" } });
    expect(await balanceOf(account)).toBe(20);
    sentOnce(outside);
  });

  it("that is repeated at once and after its end, under the same key, is made and charged once", async () => {
    const outside = aGateway(images());
    const { account, submit } = await anAccountWithOffers();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const both = await Promise.all([submit({ headers }), submit({ headers })]);
    const [id = "", other] = await Promise.all(both.map(idIn));
    expect(other).toBe(id);
    const replayed = both.map((each) => each.headers.has("Idempotent-Replayed"));
    expect(new Set(replayed)).toEqual(new Set([true, false]));
    await makeOffered(id);
    const again = await submit({ headers });
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([202, "true"]);
    expect(await again.json()).toMatchObject({ id, status: "completed" });
    sentOnce(outside);
    expect(await balanceOf(account)).toBe(15);
  });

  it("that is repeated after its end by a client which waits is refused with a text that names the path of its answer", async () => {
    const outside = aGateway(images());
    const { submit } = await anAccountWithOffers();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const id = await idIn(await submit({ headers }));
    await makeOffered(id);
    const again = await submit({ headers: { ...headers, Prefer: "wait" } });
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({
      code: "task_exists",
      detail: expect.stringContaining(`/v1/tasks/${id}/answer`),
    });
    sentOnce(outside);
  });

  it("is refused under a key that was used with another form, and is the same with another boundary", async () => {
    aGateway(images());
    const { account, submit } = await anAccountWithOffers();
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const send = async (prompt: string) => {
      const fields = { model: "gpt-image-1", n: "1", prompt, image: PNG };
      const { body, headers } = await formOf(fields);
      return submit({ path: EDITS, body, headers: { ...headers, ...key } });
    };
    const id = await idIn(await send("a fox"));
    expect(await idIn(await send("a fox"))).toBe(id);
    expect(await refusal(await send("a wolf"))).toMatchObject({
      status: 422,
      code: "idempotency_key_reused",
    });
    expect(await balanceOf(account)).toBe(15);
  });

  it("that waits to be sent is canceled at once, and is never sent", async () => {
    const outside = aGateway(images());
    const { account, key, submit } = await anAccountWithOffers();
    const id = await idIn(await submit());
    const canceled = await callWith(OFFERING, `/v1/tasks/${id}/cancel`, { body: "", key });
    expect(await canceled.json()).toMatchObject({ status: "failed", error: { code: "canceled" } });
    expect(await balanceOf(account)).toBe(20);
    await makeOffered(id);
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("cannot be canceled while the upstream works on it", async () => {
    let isReady = false;
    const outside = aGateway(async (sent, signal) => {
      await until(() => isReady);
      return images()(sent, signal);
    });
    const { key, submit } = await anAccountWithOffers();
    const id = await idIn(await submit());
    const making = makeOffered(id);
    await until(() => outside.sentTo(GATEWAY).length > 0);
    const refused = await callWith(OFFERING, `/v1/tasks/${id}/cancel`, { body: "", key });
    expect(await refusal(refused)).toMatchObject({ status: 409, code: "submission_running" });
    isReady = true;
    await making;
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["a model that is not offered", { model: "dall-e-2" }],
    ["no model", {}],
    ["more images than offered", { model: "gpt-image-1", n: "3" }],
    ["a number in another spelling", { model: "gpt-image-1", n: "01" }],
    ["a size that is not offered", { model: "gpt-image-1", n: "1", size: "2048x2048" }],
    ["a list of sizes", { model: "gpt-image-1", n: "1", "size[]": "1024x1024" }],
    ["a size in another letter case", { model: "gpt-image-1", n: "1", Size: "2048x2048" }],
  ])("and a form with %s is refused, and nothing is charged or stored", async (_, fields) => {
    aGateway(images());
    const { account, submit } = await anAccountWithOffers();
    const { body, headers } = await formOf({ ...fields, image: PNG });
    const before = await storedCalls();
    const response = await submit({ path: EDITS, body, headers });
    expect([400, 403]).toContain(response.status);
    expect(await balanceOf(account)).toBe(20);
    await until(async () => (await storedCalls()) === before);
  });

  it("and a form within the limits of its offer costs what the offer says", async () => {
    const outside = aGateway(images());
    const { account, submit } = await anAccountWithOffers();
    const { body, headers } = await formOf({
      model: "gpt-image-1",
      n: "2",
      size: "1024x1024",
      image: PNG,
    });
    const id = await idIn(await submit({ path: EDITS, body, headers }));
    await makeOffered(id);
    expect(sentOnce(outside).bytes).toEqual(body);
    expect(await balanceOf(account)).toBe(15);
  });
});

it("a call waits to be sent until the time in Relay-Start-By, before the deadline of its task", async () => {
  aGateway(images());
  const id = crypto.randomUUID();
  const startBy = `${START_S + 90}`;
  const response = await callLater({ headers: { "Relay-Task-Id": id, "Relay-Start-By": startBy } });
  expect(await response.json()).toMatchObject({ submission: { start_by: START_S + 90 } });
  const times = { "Relay-Deadline-At": `${START_S + 60}`, "Relay-Start-By": startBy };
  expect(await refusal(await callLater({ headers: times }))).toEqual(invalid("/Relay-Start-By"));
});

describe("a call that the relay does not take", () => {
  it.each<[string, LaterCall, number, string]>([
    [
      "without a bucket, at a path answered by the result",
      { path: IMAGES, bindings: { ...OFFERING, OUTPUTS: undefined } },
      503,
      "not_configured",
    ],
    [
      "without an address of the relay",
      { path: IMAGES, bindings: { ...OFFERING, PUBLIC_URL: undefined } },
      503,
      "not_configured",
    ],
    [
      "for a chat that is to be streamed",
      { path: "/v1/chat/completions", body: { model: "gpt-5", stream: true } },
      400,
      "invalid_request",
    ],
    [
      "without the header, at a path that needs it",
      { path: EDITS, headers: { Prefer: "wait=60" } },
      400,
      "prefer_required",
    ],
    [
      "that should have been sent already",
      { headers: { "Relay-Start-By": `${START_S}` } },
      400,
      "invalid_request",
    ],
    ["with a body that is no JSON", { body: '{"model": "gpt-image-1"' }, 400, "invalid_json"],
    [
      "that costs more than the account has",
      { bindings: { ...OFFERING, OFFERS: OFFERS.replaceAll('"credits":5', '"credits":21') } },
      402,
      "insufficient_credits",
    ],
    ["with JSON of 33 MiB", { body: " ".repeat(33 * MIB) }, 413, "payload_too_large"],
  ])("%s, is refused, and nothing is charged or stored", async (_, call, status, code) => {
    const outside = aGateway(images());
    const { account, submit } = await anAccountWithOffers();
    const before = await storedCalls();
    expect(await refusal(await submit(call))).toMatchObject({ status, code });
    expect(await balanceOf(account)).toBe(20);
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    await until(async () => (await storedCalls()) === before);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["that states its length", {}],
    ["that does not state its length", { "Content-Length": "" }],
  ])(
    "because its form of more than 32 MiB, %s, is larger than MAX_ASYNC_MB allows by default, gets 413, and nothing is stored",
    async (_, length) => {
      aGateway(images());
      const { body, headers } = await formOf({ model: "m", image: new Uint8Array(32 * MIB) });
      const before = await storedCalls();
      const stream = new Response(body).body?.pipeThrough(new IdentityTransformStream());
      const sent = length["Content-Length"] === "" ? stream : body;
      const response = await callLater({ path: EDITS, body: sent, headers });
      expect(await refusal(response)).toMatchObject({ status: 413, code: "payload_too_large" });
      await until(async () => (await storedCalls()) === before);
    },
  );
});

it("a call with a key of the customer is sent with the header as the customer has sent it, and its object stores no key", async () => {
  const outside = aGateway(answering({ task_id: "job-1" }));
  const id = crypto.randomUUID();
  const OWN = "sk-own-key-of-the-customer";
  const headers = {
    "Relay-Task-Id": id,
    "Relay-Key": OPERATOR_KEY,
    Authorization: `bearer  ${OWN}`,
  };
  const response = await callLater({ headers, key: null });
  expect(response.status).toBe(202);
  const object = await callObjectOf(id);
  const states = await runInDurableObject(object, (_, { storage }) => storage.kv.get("call"));
  expect(JSON.stringify(states)).not.toContain(OWN);
  await makeCall(id);
  expect(sentOnce(outside).headers["authorization"]).toBe(`bearer  ${OWN}`);
  expect(await readCalled(id)).toMatchObject({ submission: { state: "accepted" } });
});

it("a job of the sandbox can be submitted without waiting, also without a bucket", async () => {
  const bindings = { ...CALLING, SANDBOX: "true", OUTPUTS: undefined };
  const id = crypto.randomUUID();
  await restart(id, bindings);
  const response = await callWith(bindings, "/v1/submit/sandbox/jobs", {
    body: { model: "sandbox/ok" },
    headers: { Prefer: "respond-async", "Relay-Task-Id": id },
  });
  expect(response.status).toBe(202);
  await makeCall(id, bindings);
  expect(await readCalled(id, bindings)).toMatchObject({ submission: { state: "accepted" } });
});
