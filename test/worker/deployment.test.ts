import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { restart } from "./instance.ts";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  aRequest,
  atRest,
  CALLBACK_URL,
  pass,
  post,
  read,
  refusal,
  register,
  START,
  stored,
  stubOf,
  useClock,
} from "./support.ts";

useClock();

describe("PUBLIC_URL", () => {
  const bindings = { ...env, PUBLIC_URL: "https://public.example.org/" };

  it("is the origin that problems and callbacks name", async () => {
    const problem = await app.fetch(aRequest("/nowhere"), bindings);
    expect(await problem.json()).toMatchObject({
      type: "https://public.example.org/docs/errors#not_found",
    });
    const received = aReceiver();
    const id = await register();
    await restart(id, bindings);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    expect(received[0]?.headers["user-agent"]).toBe("TaskRelay/1 (+https://public.example.org)");
  });

  it.each([
    "https://public.example.org/x",
    "https://PUBLIC.example.org.:8443/",
    "https://relay.example.com/",
  ])("is the relay itself, as is where the request came in: %s", async (callback_url) => {
    const request = aRequest("/v1/tasks", { body: { model: "m", callback_url } });
    expect(await refusal(await app.fetch(request, bindings))).toMatchObject({ status: 400 });
  });
});

describe("ALLOW_LOCAL_CALLBACKS", () => {
  it("lets http and loopback through, and says so in the log", async () => {
    const log = vi.spyOn(console, "log");
    const bindings = { ...env, ALLOW_LOCAL_CALLBACKS: "true" };
    for (const callback_url of [
      "http://localhost:9000/a",
      "http://127.0.0.1:9000/a",
      "https://[::1]/",
    ]) {
      const request = aRequest("/v1/tasks", { body: { model: "m", callback_url } });
      expect((await app.fetch(request, bindings)).status).toBe(201);
    }
    const other = { model: "m", callback_url: "http://10.0.0.1/" };
    expect((await app.fetch(aRequest("/v1/tasks", { body: other }), bindings)).status).toBe(400);
    const warnings = log.mock.calls.filter(([line]) =>
      String(line).includes("ALLOW_LOCAL_CALLBACKS"),
    );
    expect(warnings).toHaveLength(1);
  });
});

describe("CALLBACK_SCHEDULE_S", () => {
  it("sets the number of attempts and every wait, the first too", async () => {
    const received = aReceiver(status(500));
    const id = await register();
    await restart(id, { ...env, CALLBACK_SCHEDULE_S: "60,7" });
    await post("/v1/events", aCompletion(id));
    expect(await stored(id)).toMatchObject({ alarm: START + 60_000 });
    expect(await read(id)).toMatchObject({ callback: { status: "sending", attempts: [] } });
    pass(60_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await stored(id)).toMatchObject({ alarm: START + 67_000 });
    pass(7000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
    expect(received).toHaveLength(2);
  });

  it("when changed, moves no attempt that is due already", async () => {
    aReceiver(status(500));
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    await restart(id, { ...env, CALLBACK_SCHEDULE_S: "0,5,5" });
    await runDurableObjectAlarm(stubOf(id));
    expect(await stored(id)).toMatchObject({ alarm: START + 180_000 });
    pass(180_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await stored(id)).toMatchObject({ alarm: START + 185_000 });
  });
});

describe("events at the same moment", () => {
  it("are one and the same when they are equal: one is recorded, one callback is sent", async () => {
    const received = aReceiver();
    const id = await register();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post("/v1/events", aCompletion(id))),
    );
    const statuses = answers.map((answer) => String(answer.status));
    expect(statuses.toSorted()).toEqual([...Array<string>(7).fill("200"), "202"]);
    await atRest(id);
    expect(received).toHaveLength(1);
  });

  it("have one winner when they contradict each other", async () => {
    const received = aReceiver();
    const id = crypto.randomUUID();
    const created = { model: "m", callback_url: CALLBACK_URL };
    const answers = await Promise.all([
      post("/v1/events", aCompletion(id, created)),
      post("/v1/events", aFailure(id, created)),
    ]);
    expect(answers.map((answer) => String(answer.status)).toSorted()).toEqual(["202", "409"]);
    await atRest(id);
    expect(received).toHaveLength(1);
    const winner = answers[0]?.status === 202 ? "completed" : "failed";
    expect(await read(id)).toMatchObject({ status: winner });
  });
});
