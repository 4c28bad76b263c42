import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { accountStub, anAccount, booksOf } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, call, post, ProblemBody, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { stubOf, untilIdle } from "./objects.ts";
import { aCompletion, completed, read, register, VIDEO } from "./tasks.ts";

useClock();

describe("an event", () => {
  it("does not lose its result to a seed beyond 2^53", async () => {
    const id = await register();
    const metadata = '{"seed":9223372036854775807}';
    const body = `{"id":"${id}","status":"completed","output":{"urls":["${VIDEO}"],"metadata":${metadata}}}`;
    expect((await post("/v1/events", body)).status).toBe(202);
    expect(await read(id)).toMatchObject({ output: { metadata: { seed: 2 ** 63 } } });
  });

  it("that names only the end of its task is not created after it", async () => {
    const id = crypto.randomUUID();
    await post("/v1/events", aCompletion(id, { model: "m", completed_at: START_S - 500 }));
    const times = { created_at: START_S - 500, completed_at: START_S - 500 };
    expect(await read(id)).toMatchObject(times);
  });
});

describe("a request", () => {
  it("whose body breaks off is the sender's fault, not ours", async () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"model":')),
      pull: (controller) => controller.error(new Error("connection lost")),
    });
    const answer = await app.fetch(aRequest("/v1/tasks", { body }), env);
    expect(await refusal(answer)).toMatchObject({
      status: 400,
      code: "invalid_json",
    });
  });

  it.each([
    ["/v1/nothing", 404],
    ["/v1/tasks/none", 404],
    ["/v1/events", 405],
  ])("to %s is refused with the security headers, and not cached", async (path, status) => {
    const response = await call(path);
    expect(response.status).toBe(status);
    expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(response.headers.has("X-Request-Id")).toBe(true);
  });

  it("learns what is wrong with each field in plain words", async () => {
    const body = { metadata: 1, deadline_at: -1, credits: 1.5, account: "a b", callbackurl: "x" };
    const { issues } = ProblemBody.parse(await (await post("/v1/tasks", body)).json());
    expect(issues).toEqual([
      { path: "/model", message: "is required" },
      { path: "/account", message: "must be 1 to 64 of A-Z a-z 0-9 _ -" },
      { path: "/metadata", message: "must be an object" },
      { path: "/deadline_at", message: "must be at least 0" },
      { path: "/credits", message: "must be an integer" },
      { path: "/callbackurl", message: "Unknown field" },
    ]);
  });
});

describe("a redelivery", () => {
  it("that is repeated under its key says so", async () => {
    aReceiver();
    const id = await completed();
    await untilIdle(id);
    const headers = { "Idempotency-Key": "again" };
    const order = () => call(`/v1/tasks/${id}/redeliver`, { method: "POST", headers });
    expect((await order()).headers.get("Idempotent-Replayed")).toBe(null);
    expect((await order()).headers.get("Idempotent-Replayed")).toBe("true");
  });
});

describe("a success after the deadline", () => {
  it("is refused like any other result, and noted for the operator", async () => {
    const id = await register({ deadline_at: START_S + 60 });
    pass(60_000);
    await runDurableObjectAlarm(stubOf(id));
    const lines = vi.spyOn(console, "log");
    expect(await refusal(await post("/v1/events", aCompletion(id)))).toMatchObject({ status: 409 });
    expect(lines.mock.calls.flat().join("\n")).toContain('"outcome":"late_result"');
    expect(await read(id)).toMatchObject({ error: { code: "upstream_timeout" } });
  });
});

describe("a receiver's Retry-After", () => {
  it("is recorded in the log and not obeyed", async () => {
    const lines = vi.spyOn(console, "log");
    aReceiver(() => new Response(null, { status: 503, headers: { "Retry-After": "7200" } }));
    const id = await completed();
    await vi.waitFor(() => {
      const attempt = lines.mock.calls.find(([line]) => String(line).includes("callback.attempt"));
      expect(JSON.parse(String(attempt?.[0]))).toMatchObject({ retry_after: "7200" });
    });
    expect(await read(id)).toMatchObject({ callback: { next_attempt_at: START_S + 180 } });
  });
});

describe("a charge", () => {
  it("that was on its way for too long is not booked", async () => {
    const account = await anAccount(100);
    const order = { reference: "late", amount: 60 };
    const ledger = accountStub(account);
    const late = await ledger.charge(order, crypto.randomUUID(), Date.now() - 1);
    expect(late).toMatchObject({ kind: "unknown" });
    expect(await booksOf(account)).toEqual(["grant 100"]);
  });
});
