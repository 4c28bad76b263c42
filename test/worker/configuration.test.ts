import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { parseConfig } from "../../src/config/config.ts";
import { aReceiver } from "./receiver.ts";
import {
  aCompletion,
  aRequest,
  CALLBACK_URL,
  NOTHING,
  ProblemBody,
  stored,
  useClock,
} from "./support.ts";

useClock();

const MARK = "do-not-repeat-me";
const whsec = (bytes: number) => `whsec_${btoa("x".repeat(bytes))}`;
const jwk = (fields: object) =>
  JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "A".repeat(43), d: "B".repeat(43), ...fields });

/** A variable, what is wrong with it, and the wrong value. */
const FAULTS: readonly [string, string, unknown][] = [
  ["RELAY_SECRET", "missing", undefined],
  ["RELAY_SECRET", "empty", ""],
  ["RELAY_SECRET", "blank", "  "],
  ["RELAY_SECRET", "too short", `${MARK}-12345`],
  ["RELAY_SECRET", "too short in second place", `${"r".repeat(32)} ${MARK}`],
  ["OPERATOR_KEYS", "missing", undefined],
  ["OPERATOR_KEYS", "empty", ""],
  ["OPERATOR_KEYS", "too short", "do-not-repeat"],
  ["CALLBACK_SCHEDULE_S", "text", MARK],
  ["CALLBACK_SCHEDULE_S", "negative", "0,-180"],
  ["CALLBACK_SCHEDULE_S", "with an empty part", "0,,600"],
  ["CALLBACK_SCHEDULE_S", "more than a day", "0,86401"],
  ["CALLBACK_SCHEDULE_S", "eleven parts", "0,1,2,3,4,5,6,7,8,9,10"],
  ["CALLBACK_SCHEDULE_S", "with fractions", "0,1.5"],
  ["CALLBACK_TIMEOUT_S", "text", MARK],
  ["CALLBACK_TIMEOUT_S", "zero", "0"],
  ["CALLBACK_TIMEOUT_S", "too long", "26"],
  ["RETENTION_DAYS", "text", MARK],
  ["RETENTION_DAYS", "zero", 0],
  ["RETENTION_DAYS", "negative", -1],
  ["TASK_DEADLINE_HOURS", "text", MARK],
  ["TASK_DEADLINE_HOURS", "negative", "-1"],
  ["MAX_BODY_KB", "text", MARK],
  ["MAX_BODY_KB", "zero", "0"],
  ["MAX_BODY_KB", "infinite", "Infinity"],
  ["ALLOW_LOCAL_CALLBACKS", "neither true nor false", MARK],
  ["PAUSED", "neither true nor false", MARK],
  ["SANDBOX", "neither true nor false", MARK],
  ["ERROR_TEXT", "neither upstream nor generic", MARK],
  ["CONNECTIONS", "not JSON", MARK],
  ["ARK_BASE_URL", "no URL", MARK],
  ["PUBLIC_URL", "no URL", MARK],
  ["PUBLIC_URL", "with a path", `https://example.com/${MARK}`],
  ["PUBLIC_URL", "of another scheme", `ftp://${MARK}.example`],
  ["SETTLEMENT_URL", "no URL", MARK],
  ["SETTLEMENT_URL", "of another scheme", `ftp://${MARK}.example`],
  ["SIGNING_SECRETS", "without its prefix", btoa(MARK.repeat(2))],
  ["SIGNING_SECRETS", "too short", whsec(23)],
  ["SIGNING_SECRETS", "too long", whsec(65)],
  ["SIGNING_SECRETS", "not base64", `whsec_${MARK}-${MARK}-${MARK}`],
  ["EVENTS_SECRETS", "wrong in second place", `${whsec(24)} ${MARK}`],
  ["SIGNING_KEYS", "not JSON", MARK],
  ["SIGNING_KEYS", "of another curve", jwk({ crv: "X25519" })],
  ["SIGNING_KEYS", "without the private part", jwk({ d: undefined })],
  ["SIGNING_KEYS", "two halves that do not belong together", jwk({})],
];

describe.each(FAULTS)("%s that is %s", (name, _, value) => {
  const bindings = { ...env, [name]: value };

  it("is answered by 503 not_configured, which names it but not its value, and stores nothing", async () => {
    const received = aReceiver();
    const id = crypto.randomUUID();
    const event = aCompletion(id, { model: "m", callback_url: CALLBACK_URL });
    for (const request of [
      aRequest("/v1/tasks", { body: { id, model: "m", callback_url: CALLBACK_URL } }),
      aRequest("/v1/events", { body: event }),
      aRequest("/v1/events", { body: event, key: null }),
      aRequest(`/v1/tasks/${id}`),
      aRequest(`/v1/tasks/${id}`, { method: "DELETE" }),
      aRequest(`/v1/tasks/${id}/redeliver`, { body: { callback_url: CALLBACK_URL } }),
      aRequest("/v1/callbacks/test", { body: { callback_url: CALLBACK_URL } }),
      aRequest(`/v1/tasks/${id}/cancel`, { method: "POST" }),
      aRequest(`/v1/tasks/${id}/upstream`, { body: { provider: "ark", id: "cgt-1" } }),
      aRequest(`/hooks/ark/${id}/${"A".repeat(43)}`, { body: {}, key: null }),
      aRequest("/v1/accounts", { body: { id } }),
      aRequest(`/v1/accounts/${id}`),
      aRequest("/v1/signing-secrets"),
      aRequest("/.well-known/jwks.json"),
    ]) {
      const response = await app.fetch(request, bindings);
      const text = await response.text();
      const { status, code, detail } = ProblemBody.parse(JSON.parse(text));
      expect([response.status, status, code]).toEqual([503, 503, "not_configured"]);
      expect(response.headers.get("Retry-After")).toMatch(/^\d+$/);
      expect(detail).toContain(name);
      expectNoValue(text);
    }
    expect(await stored(id)).toEqual(NOTHING);
    expect(received).toEqual([]);
  });

  it("is told by /healthz to anyone, without its value", async () => {
    const response = await app.fetch(aRequest("/healthz", { key: null }), bindings);
    const text = await response.text();
    expect(response.status).toBe(503);
    expect(text).toContain(name);
    expectNoValue(text);
  });

  function expectNoValue(text: string): void {
    expect(text).not.toContain("do-not-repeat");
    expect(text).not.toContain(env.RELAY_SECRET);
    expect(text).not.toContain("test-only-operator-key");
    if (typeof value === "string" && value.length > 8) expect(text).not.toContain(value);
  }
});

describe("configuration", () => {
  it("names every variable at fault at once", async () => {
    const bindings = { TASKS: env.TASKS, ACCOUNTS: env.ACCOUNTS, PAUSED: "maybe" };
    const response = await app.fetch(aRequest("/v1/tasks", { body: { model: "m" } }), bindings);
    const { detail } = ProblemBody.parse(await response.json());
    for (const name of ["RELAY_SECRET", "OPERATOR_KEYS", "PAUSED"]) expect(detail).toContain(name);
  });

  it("takes numbers and booleans as TOML writes them, and blanks as absent", async () => {
    const typed = { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2.5, PUBLIC_URL: " " };
    const response = await app.fetch(aRequest("/healthz"), { ...env, ...typed });
    expect(await response.json()).toMatchObject({
      configuration: { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2.5, PUBLIC_URL: null },
    });
  });

  it("needs the network's own guard, unless local callbacks are allowed", () => {
    const vars = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };
    expect(parseConfig(vars, {})).toMatchObject({
      ok: false,
      error: [{ path: "compatibility_flags" }],
    });
    expect(parseConfig({ ...vars, ALLOW_LOCAL_CALLBACKS: "true" }, {})).toMatchObject({ ok: true });
    expect(Cloudflare.compatibilityFlags["global_fetch_strictly_public"]).toBe(true);
  });
});

describe("GET /healthz", () => {
  it("says ok to anyone, and nothing more", async () => {
    for (const key of [null, "wrong"]) {
      const response = await app.fetch(aRequest("/healthz", { key }), env);
      expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
      expect(response.headers.get("Cache-Control")).toBe("no-store");
    }
  });

  it("shows the operator the settings with their defaults, secrets counted instead of shown", async () => {
    const response = await app.fetch(aRequest("/healthz"), env);
    expect(await response.json()).toEqual({
      status: "ok",
      configuration: {
        CALLBACK_SCHEDULE_S: "0,180,600",
        CALLBACK_TIMEOUT_S: 10,
        RETENTION_DAYS: 28,
        TASK_DEADLINE_HOURS: 72,
        MAX_BODY_KB: 256,
        ALLOW_LOCAL_CALLBACKS: false,
        PAUSED: false,
        ERROR_TEXT: "upstream",
        OPERATOR_CALLBACK_URL: null,
        INDEX_DB: false,
        SANDBOX: false,
        PUBLIC_URL: null,
        SETTLEMENT_URL: null,
        secrets: {
          RELAY_SECRET: 1,
          OPERATOR_KEYS: 2,
          SIGNING_SECRETS: 0,
          EVENTS_SECRETS: 0,
          SIGNING_KEYS: 0,
        },
      },
      connections: {},
    });
  });
});
