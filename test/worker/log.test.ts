import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { aCharged, aKey, anAccount, breakLedger } from "./accounts.ts";
import { attach, hooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { aReceiver, refused, status } from "./receiver.ts";
import { aRequest, call, OPERATOR_KEY, post } from "./client.ts";
import { pass, START, START_S, until } from "./clock.ts";
import { restart, stored, stubOf, untilIdle } from "./objects.ts";
import { aCompletion, aFailure, CALLBACK_URL, register } from "./tasks.ts";

/** Planted wherever a client, an upstream or a receiver may say something. */
const MARK = "planted-marker";
const SECRETS = [
  env.RELAY_SECRET,
  "trk_",
  "5ec2e7",
  OPERATOR_KEY,
  "test-only-older-operator-key",
  "v1,",
  "Bearer",
];

const ARK_KEY = "test-only-ark-key";

const lines: string[] = [];
const hookTokens: string[] = [];

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...args: readonly unknown[]) => {
      lines.push(args.map(String).join(" "));
    });
  }
  await sayEverything();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function sayEverything(): Promise<void> {
  aReceiver(status(500, MARK), refused, status(200, MARK));
  const callback_url = `${CALLBACK_URL}/${MARK}?token=${MARK}`;
  const labels = { parameters: { prompt: MARK }, metadata: { note: MARK }, model: MARK };
  const id = await register({ ...labels, callback_url });
  const output = { urls: [`https://cdn.example.net/a?sig=${MARK}`], metadata: { extra: MARK } };
  await post(`/v1/events?key=${MARK}`, aCompletion(id, { output }));
  await untilIdle(id);
  for (const wait of [180_000, 600_000]) {
    pass(wait);
    await runDurableObjectAlarm(stubOf(id));
  }
  await call(`/v1/tasks/${id}?wait=${MARK}`);
  await call(`/v1/tasks/${MARK}?q=${MARK}`);
  await call(`/${MARK}?q=${MARK}`);
  await post(`/v1/tasks/${id}/redeliver`, "", { headers: { "Idempotency-Key": MARK } });
  await untilIdle(id);
  await post("/v1/events", aFailure(id, { error: { code: MARK, message: MARK } }));
  await post("/v1/events", aFailure(id, { status: MARK }));
  await post("/v1/tasks", { [MARK]: MARK });
  await post("/v1/tasks", `{"${MARK}`);
  await post("/v1/callbacks/test", { callback_url });
  await post("/v1/tasks", { model: MARK }, { key: MARK });
  await call("/v1/signing-secrets");
  await signedEvent();
  await sayCredits();
  await sayHooks();
  const broken = { ...env, SIGNING_SECRETS: MARK };
  await app.fetch(aRequest(`/v1/tasks/${id}`), broken);
  await restart(id, broken);
  await expect(runDurableObjectAlarm(stubOf(id))).rejects.toThrow("SIGNING_SECRETS");
  await call(`/v1/tasks/${id}`);
  await restart(id);
  await call(`/v1/tasks/${id}`, { method: "DELETE" });
}

async function sayHooks(): Promise<void> {
  const outside = anOutside();
  outside.on("https://ark.", answering({ error: MARK }, 401));
  const bindings = { ...env, ARK_API_KEY: ARK_KEY };
  const task = await hooked({ provider: "ark", bindings, fields: { model: MARK } });
  hookTokens.push(task.hookUrl.split("/").at(-1) ?? "");
  await attach(task, `cgt-${MARK}`);
  const said = { id: `cgt-${MARK}`, status: "failed", error: { code: MARK, message: MARK } };
  await sendHook({ ...task, hookUrl: `${task.hookUrl}?q=${MARK}` }, JSON.stringify(said));
  await until(() => lines.some((line) => line.includes("provider.unauthorized")));
  await sendHook(task, `{"${MARK}`);
  await sendHook({ ...task, hookUrl: `${task.hookUrl}${MARK}` }, JSON.stringify(said));
  await until(() => lines.some((line) => line.includes("upstream.poll")));
}

async function sayCredits(): Promise<void> {
  const account = await anAccount(10);
  const { key } = await aKey(account);
  await post(`/v1/accounts/${account}/grants`, { reference: MARK, amount: 1 });
  await post(`/v1/accounts/${account}/keys`, { label: MARK, sha256: "5ec2e7".padEnd(64, "0") });
  await call(`/v1/accounts/${account}?q=${MARK}`, { key });
  await call("/v1/accounts", { key });
  await call(`/v1/accounts/${MARK}`, { key: `trk_${MARK}_${"a".repeat(48)}` });
  await post(`/v1/accounts/${account}/signing-secrets`, "");
  const id = await aCharged(account, 4, { callback_url: null });
  const heal = await breakLedger(account);
  await post(`/v1/tasks/${id}/cancel`, "");
  await until(async () => (await stored(id)).alarm === Date.now() + 5000);
  heal();
  pass(5000);
  await runDurableObjectAlarm(stubOf(id));
}

async function signedEvent(): Promise<void> {
  const Secrets = z.object({ events: z.array(z.string()) });
  const { events } = Secrets.parse(await (await call("/v1/signing-secrets")).json());
  const body = JSON.stringify(aCompletion(crypto.randomUUID(), { model: MARK }));
  const headers = {
    "webhook-id": MARK,
    "webhook-timestamp": String(START_S + 780),
    "webhook-signature": new Webhook(events[0] ?? "").sign(MARK, new Date(Date.now()), body),
  };
  const response = await post("/v1/events", body, { key: null, headers });
  if (response.status !== 202) throw new Error(await response.text());
}

describe("the log of it all", () => {
  const Line = z.looseObject({ event: z.string() });

  it("is one JSON object per line, each with an event", () => {
    const events = lines.map((line) => Line.parse(JSON.parse(line)).event);
    expect(events.length).toBeGreaterThan(15);
    expect(new Set(events)).toEqual(
      new Set([
        "task.register",
        "task.completed",
        "task.failed",
        "task.redeliver",
        "task.attach",
        "task.hook",
        "hook.ignored",
        "upstream.poll",
        "provider.unauthorized",
        "task.cancel",
        "task.erase",
        "credits.charge",
        "credits.refund",
        "call.unanswered",
        "callback.attempt",
        "callback.test",
        "request.refused",
        "request.failed",
        "alarm.failed",
      ]),
    );
  });

  it("has one line per attempt, with task, number, outcome and duration", () => {
    const said = lines.map((line) => Line.parse(JSON.parse(line)));
    const attempts = said.filter(({ event }) => event === "callback.attempt");
    expect(new Set(attempts.map((attempt) => attempt["task_id"])).size).toBe(1);
    expect(attempts).toMatchObject([
      { number: 1, outcome: "rejected", status_code: 500, duration_ms: 0 },
      { number: 2, outcome: "unreachable", duration_ms: 0 },
      { number: 3, outcome: "delivered", status_code: 200, duration_ms: 0 },
      { number: 4, outcome: "delivered", status_code: 200, duration_ms: 0 },
    ]);
  });

  it("has one line per order to the ledger, with task, account, amount and outcome", () => {
    const said = lines.map((line) => Line.parse(JSON.parse(line)));
    const orders = said.filter(({ event }) => event.startsWith("credits."));
    const order = { task_id: expect.any(String), account: expect.any(String), amount: 4 };
    expect(orders).toEqual([
      { event: "credits.charge", ...order, outcome: "charged" },
      { event: "credits.refund", ...order, outcome: "unknown" },
      { event: "credits.refund", ...order, outcome: "refunded" },
    ]);
  });

  it("has one line per hook and per poll, with task, connection and outcome", () => {
    const said = lines.map((line) => Line.parse(JSON.parse(line)));
    const about = said.filter(({ connection }) => connection === "ark");
    const line = { task_id: expect.any(String), connection: "ark" };
    expect(about).toEqual([
      { event: "task.hook", ...line, status: "failed", outcome: "nudged" },
      { event: "provider.unauthorized", ...line },
      { event: "upstream.poll", ...line, outcome: "unauthorized" },
      { event: "hook.ignored", ...line, reason: "malformed" },
    ]);
  });

  it("holds no payload, no query string, no URL, no key and no secret", () => {
    const text = lines.join("\n");
    expect(hookTokens).toHaveLength(1);
    for (const word of [MARK, "?", "client.example.net", ARK_KEY, ...hookTokens, ...SECRETS]) {
      expect(text).not.toContain(word);
    }
    expect(text).not.toMatch(/whsec_[A-Za-z0-9+/]/);
  });
});
