import { describe, expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  atRest,
  call,
  CALLBACK_URL,
  NOTHING,
  ORIGIN,
  pass,
  post,
  read,
  refusal,
  register,
  START_S,
  stored,
  useClock,
  VIDEO,
} from "./support.ts";

useClock();

describe("POST /v1/events", () => {
  it("answers 202 with the task, which is processing, then completed", async () => {
    aReceiver();
    const id = await register();
    const first = await post("/v1/events", { id, status: "processing" });
    expect([first.status, await first.json()]).toEqual([202, await read(id)]);
    pass(5000);
    const second = await post("/v1/events", aCompletion(id));
    expect(second.status).toBe(202);
    expect(await second.json()).toMatchObject({ status: "completed", completed_at: START_S + 5 });
  });

  it("needs a key or a signature", async () => {
    const id = await register();
    const before = await stored(id);
    for (const key of [null, "wrong"]) {
      const response = await post("/v1/events", aCompletion(id), { key });
      expect(await refusal(response)).toEqual({ status: 401, code: "unauthenticated" });
      expect(response.headers.get("WWW-Authenticate")).toMatch(/^Bearer/);
    }
    expect(await stored(id)).toEqual(before);
  });

  it("creates an unregistered task from an event with a model, with all that the event says", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const account = await anAccount();
    const created = { model: "kling", created_at: 1_700_000_000, account };
    const event = aCompletion(id, { ...created, callback_url: CALLBACK_URL, completed_at: 7 });
    expect((await post("/v1/events", event)).status).toBe(202);
    await atRest(id);
    expect(await read(id)).toMatchObject({
      ...created,
      completed_at: 7,
      callback: { url: CALLBACK_URL, status: "delivered" },
    });
  });

  it("answers 404 for an unregistered id without a model, and leaves nothing", async () => {
    const id = crypto.randomUUID();
    for (const event of [
      aCompletion(id),
      aFailure(id),
      { id, status: "processing", model: null },
    ]) {
      const response = await post("/v1/events", event);
      expect(await refusal(response)).toEqual({ status: 404, code: "unknown_task" });
    }
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("lets the registration win over model, created_at, callback_url and account", async () => {
    const received = aReceiver();
    const account = await anAccount();
    const id = await register({ account });
    const event = aCompletion(id, {
      model: "other",
      created_at: 5,
      callback_url: "http://127.0.0.1/not-even-allowed",
      account: await anAccount(),
    });
    expect((await post("/v1/events", event)).status).toBe(202);
    await atRest(id);
    expect(await read(id)).toMatchObject({
      model: "seedance",
      created_at: START_S,
      account,
      callback: { url: CALLBACK_URL },
    });
    expect(received.map(({ url }) => url)).toEqual([CALLBACK_URL]);
  });

  it.each([
    ["the relay itself", `${ORIGIN}/v1/events`],
    ["a local name", "https://printer.local/x"],
    ["plain http", "http://client.example.net/x"],
  ])("refuses a creating event whose callback_url is %s", async (_, callback_url) => {
    const id = crypto.randomUUID();
    const response = await post("/v1/events", aCompletion(id, { model: "m", callback_url }));
    const paths = ["/callback_url"];
    expect(await refusal(response)).toEqual({ status: 400, code: "invalid_request", paths });
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("takes an id in upper case as the same task", async () => {
    aReceiver();
    const id = await register();
    const response = await post("/v1/events", aCompletion(id.toUpperCase()));
    expect(await response.json()).toMatchObject({ id, status: "completed" });
  });

  it("drops unknown fields outside the metadata", async () => {
    aReceiver();
    const id = await register();
    const event = { ...aCompletion(id), cost: 3, output: { urls: [VIDEO], preview: "x" } };
    expect((await post("/v1/events", event)).status).toBe(202);
    expect(await read(id)).toMatchObject({ output: { urls: [VIDEO], metadata: {} } });
    expect(JSON.stringify(await read(id))).not.toMatch(/cost|preview/);
  });

  it("drops unknown fields of an error", async () => {
    aReceiver();
    const id = await register();
    await post("/v1/events", aFailure(id, { error: { code: "a", message: "b", trace: "c" } }));
    expect((await read(id))["error"]).toEqual({ code: "a", message: "b" });
  });

  it("keeps the known metadata in the order of the contract and the rest as received", async () => {
    aReceiver();
    const id = await register();
    const metadata =
      '{"zoom":{"b":null,"a":[1]},"framespersecond":24,"generate_audio":false,"resolution":"720p",' +
      '"codec":null,"duration":null,"ratio":"16:9","seed":42}';
    const event = `{"id":"${id}","status":"completed","output":{"metadata":${metadata},"urls":["${VIDEO}"]}}`;
    expect((await post("/v1/events", event)).status).toBe(202);
    expect(await (await call(`/v1/tasks/${id}`)).text()).toContain(
      `"metadata":{"seed":42,"ratio":"16:9","resolution":"720p","generate_audio":false,` +
        `"framespersecond":24,"zoom":{"b":null,"a":[1]},"codec":null}`,
    );
  });

  it("takes null as absent", async () => {
    aReceiver();
    const id = await register();
    const nulls = { model: null, created_at: null, completed_at: null, error: null, account: null };
    const event = aCompletion(id, { ...nulls, output: { urls: [VIDEO], metadata: null } });
    expect((await post("/v1/events", event)).status).toBe(202);
    expect(await read(id)).toMatchObject({ completed_at: START_S, output: { metadata: {} } });
  });
});

describe("the same event again", () => {
  it("answers 200 and changes nothing, whatever its times, spelling and null fields", async () => {
    const received = aReceiver();
    const id = await register();
    const output = { urls: [VIDEO], metadata: { seed: 1, extra: { a: 1, b: 2 } } };
    await post("/v1/events", aCompletion(id, { output }));
    await atRest(id);
    const before = await stored(id);
    const again = {
      created_at: 5,
      completed_at: 9,
      output: { metadata: { extra: { b: 2, a: 1 }, ratio: null, seed: 1 }, urls: [VIDEO] },
    };
    for (const fields of [{ output }, again]) {
      const response = await post("/v1/events", aCompletion(id, fields));
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual(await read(id));
    }
    expect(await stored(id)).toEqual(before);
    expect(received).toHaveLength(1);
  });

  it("answers 200 to the same failure", async () => {
    aReceiver();
    const id = await register();
    expect((await post("/v1/events", aFailure(id))).status).toBe(202);
    expect((await post("/v1/events", aFailure(id))).status).toBe(200);
  });

  it("answers 200 to processing again and after the end", async () => {
    aReceiver();
    const id = await register();
    const processing = { id, status: "processing" };
    expect((await post("/v1/events", processing)).status).toBe(202);
    const before = await stored(id);
    expect((await post("/v1/events", processing)).status).toBe(200);
    expect(await stored(id)).toEqual(before);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    const settled = await stored(id);
    const late = await post("/v1/events", processing);
    expect([late.status, await late.json()]).toEqual([200, await read(id)]);
    expect(await stored(id)).toEqual(settled);
  });
});

describe("a conflicting result", () => {
  it.each([
    ["another URL", { output: { urls: ["https://cdn.example.net/b.mp4"] } }],
    ["a further URL", { output: { urls: [VIDEO, VIDEO] } }],
    ["other metadata", { output: { urls: [VIDEO], metadata: { seed: 1 } } }],
    ["a failure", { status: "failed", output: null, error: { code: "a", message: "b" } }],
  ])("answers 409 to %s, with the stored task, and changes nothing", async (_, fields) => {
    const received = aReceiver(status(200));
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    const before = await stored(id);
    const response = await post("/v1/events", aCompletion(id, fields));
    expect(response.status).toBe(409);
    const task = await read(id);
    expect(await response.json()).toMatchObject({ code: "conflicting_result", task });
    expect(await stored(id)).toEqual(before);
    expect(received).toHaveLength(1);
  });

  it.each([
    ["another code", { error: { code: "other", message: "Refused." } }],
    ["another message", { error: { code: "moderation", message: "Other." } }],
    ["a completion", { status: "completed", error: null, output: { urls: [VIDEO] } }],
  ])("answers 409 to %s after a failure", async (_, fields) => {
    aReceiver();
    const id = await register();
    await post("/v1/events", aFailure(id));
    const response = await post("/v1/events", aFailure(id, fields));
    expect(await refusal(response)).toEqual({ status: 409, code: "conflicting_result" });
  });
});
