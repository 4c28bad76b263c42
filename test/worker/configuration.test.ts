import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { aReceiver } from "./receiver.ts";
import { callWith, ProblemBody } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { aCompletion, CALLBACK_URL } from "./tasks.ts";

useClock();

const MARK = "do-not-repeat-me";
const whsec = (bytes: number) => `whsec_${btoa("x".repeat(bytes))}`;
const jwk = (fields: object) =>
  JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "A".repeat(43), d: "B".repeat(43), ...fields });

/** Wrong values by variable, each with what is wrong. */
const FAULTS: Readonly<Record<string, readonly (readonly [string, unknown])[]>> = {
  RELAY_SECRET: [
    ["missing", undefined],
    ["empty", ""],
    ["blank", "  "],
    ["too short", `${MARK}-12345`],
    ["too short in second place", `${"r".repeat(32)} ${MARK}`],
  ],
  OPERATOR_KEYS: [
    ["missing", undefined],
    ["empty", ""],
    ["too short", "do-not-repeat"],
  ],
  CALLBACK_SCHEDULE_S: [
    ["text", MARK],
    ["negative", "0,-180"],
    ["a list with an empty part", "0,,600"],
    ["more than a day", "0,86401"],
    ["a list of eleven waits", "0,1,2,3,4,5,6,7,8,9,10"],
    ["a list with fractions", "0,1.5"],
  ],
  CALLBACK_TIMEOUT_S: [
    ["text", MARK],
    ["zero", "0"],
    ["over 25 s", "26"],
  ],
  RETENTION_DAYS: [
    ["text", MARK],
    ["zero", 0],
    ["negative", -1],
  ],
  TASK_DEADLINE_HOURS: [
    ["text", MARK],
    ["negative", "-1"],
  ],
  MAX_BODY_KB: [
    ["text", MARK],
    ["zero", "0"],
    ["infinite", "Infinity"],
  ],
  ALLOW_LOCAL_CALLBACKS: [["neither true nor false", MARK]],
  PAUSED: [["neither true nor false", MARK]],
  SANDBOX: [["neither true nor false", MARK]],
  ERROR_TEXT: [["neither upstream nor generic", MARK]],
  CONNECTIONS: [["not JSON", MARK]],
  ARK_BASE_URL: [["no URL", MARK]],
  JURISDICTION: [
    ["not known to the platform", MARK],
    ["in upper case", "EU"],
  ],
  LOCATION_HINT: [["not known to the platform", MARK]],
  PUBLIC_URL: [
    ["no URL", MARK],
    ["a URL with a path", `https://example.com/${MARK}`],
    ["an ftp URL", `ftp://${MARK}.example`],
  ],
  SETTLEMENT_URL: [
    ["no URL", MARK],
    ["an ftp URL", `ftp://${MARK}.example`],
  ],
  SIGNING_SECRETS: [
    ["a secret without whsec_", btoa(MARK.repeat(2))],
    ["too short", whsec(23)],
    ["too long", whsec(65)],
    ["not base64", `whsec_${MARK}-${MARK}-${MARK}`],
  ],
  EVENTS_SECRETS: [["wrong in second place", `${whsec(24)} ${MARK}`]],
  SIGNING_KEYS: [
    ["not JSON", MARK],
    ["a key of another curve", jwk({ crv: "X25519" })],
    ["a key without its private part", jwk({ d: undefined })],
    ["a key pair whose halves do not match", jwk({})],
  ],
};

const CASES = Object.entries(FAULTS).flatMap(([name, faults]) =>
  faults.map(([fault, value]) => ({ name, fault, value })),
);

/** Every route that needs the configuration, with a valid request. */
function requests(id: string): readonly (readonly [string, Parameters<typeof callWith>[2]])[] {
  const task = { id, model: "m", callback_url: CALLBACK_URL };
  const event = aCompletion(id, { model: "m", callback_url: CALLBACK_URL });
  return [
    ["/v1/tasks", { body: task }],
    ["/v1/events", { body: event }],
    ["/v1/events", { body: event, key: null }],
    [`/v1/tasks/${id}`, {}],
    [`/v1/tasks/${id}`, { method: "DELETE" }],
    [`/v1/tasks/${id}/redeliver`, { body: { callback_url: CALLBACK_URL } }],
    ["/v1/callbacks/test", { body: { callback_url: CALLBACK_URL } }],
    [`/v1/tasks/${id}/cancel`, { method: "POST" }],
    [`/v1/tasks/${id}/upstream`, { body: { provider: "ark", id: "cgt-1" } }],
    [`/hooks/ark/${id}/${"A".repeat(43)}`, { body: {}, key: null }],
    ["/v1/accounts", { body: { id } }],
    [`/v1/accounts/${id}`, {}],
    ["/v1/signing-secrets", {}],
    ["/.well-known/jwks.json", {}],
  ];
}

describe("a relay whose configuration is wrong", () => {
  it.each(CASES)(
    "names $name that is $fault, never its value, in 503 answers and /healthz",
    async ({ name, value }) => {
      const bindings = { ...env, [name]: value };
      const received = aReceiver();
      const id = crypto.randomUUID();
      const secrets = ["do-not-repeat", env.RELAY_SECRET, "test-only-operator-key"];
      if (typeof value === "string" && value.length > 8) secrets.push(value);
      for (const [path, message] of requests(id)) {
        const response = await callWith(bindings, path, message);
        const text = await response.text();
        expect(response.headers.get("Retry-After")).toMatch(/^\d+$/);
        expect([response.status, JSON.parse(text)]).toMatchObject([
          503,
          { status: 503, code: "not_configured", detail: expect.stringContaining(name) },
        ]);
        for (const secret of secrets) expect(text).not.toContain(secret);
      }
      const health = await callWith(bindings, "/healthz", { key: null });
      const text = await health.text();
      expect(health.status).toBe(503);
      expect(text).toContain(name);
      for (const secret of secrets) expect(text).not.toContain(secret);
      expect(await stored(id)).toEqual(NOTHING);
      expect(received).toEqual([]);
    },
  );

  it("names all wrong variables at once", async () => {
    const bindings = { TASKS: env.TASKS, ACCOUNTS: env.ACCOUNTS, PAUSED: "maybe" };
    const response = await callWith(bindings, "/v1/tasks", { body: { model: "m" } });
    const { detail } = ProblemBody.parse(await response.json());
    for (const name of ["RELAY_SECRET", "OPERATOR_KEYS", "PAUSED"]) expect(detail).toContain(name);
  });
});

describe("parsing the configuration", () => {
  it("accepts numbers and booleans as TOML writes them, and takes blanks as absent", async () => {
    const typed = { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2.5, PUBLIC_URL: " " };
    const response = await callWith({ ...env, ...typed }, "/healthz");
    expect(await response.json()).toMatchObject({
      configuration: { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2.5, PUBLIC_URL: null },
    });
  });

  it("requires global_fetch_strictly_public unless ALLOW_LOCAL_CALLBACKS is set", () => {
    const vars = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };
    const flags = { durable_object_io_tasks_prevent_eviction: true };
    const message = "must contain global_fetch_strictly_public";
    const error = [{ path: "compatibility_flags", message }];
    expect(parseConfig(vars, flags)).toEqual({ ok: false, error });
    const local = { ...vars, ALLOW_LOCAL_CALLBACKS: "true" };
    expect(parseConfig(local, flags)).toMatchObject({ ok: true });
  });

  it("requires durable_object_io_tasks_prevent_eviction", () => {
    const vars = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };
    const message = "must contain durable_object_io_tasks_prevent_eviction";
    const error = [{ path: "compatibility_flags", message }];
    expect(parseConfig(vars, { global_fetch_strictly_public: true })).toEqual({ ok: false, error });
  });

  it.each(["global_fetch_strictly_public", "durable_object_io_tasks_prevent_eviction"])(
    "finds %s among the flags of wrangler.toml and its date",
    (flag) => {
      expect(Cloudflare.compatibilityFlags[flag]).toBe(true);
    },
  );

  it.each(["wnam", "enam", "sam", "weur", "eeur", "apac", "apac-ne", "apac-se", "oc", "afr", "me"])(
    "accepts the LOCATION_HINT %s",
    async (hint) => {
      const response = await callWith({ ...env, LOCATION_HINT: hint }, "/healthz");
      expect(await response.json()).toMatchObject({ configuration: { LOCATION_HINT: hint } });
    },
  );
});

describe("GET /healthz", () => {
  it("answers anyone with the status ok and nothing more", async () => {
    for (const key of [null, "wrong"]) {
      const response = await callWith(env, "/healthz", { key });
      expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
      expect(response.headers.get("Cache-Control")).toBe("no-store");
    }
  });

  it("shows the operator every setting with its default and the number of secrets", async () => {
    const response = await callWith(env, "/healthz");
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
        JURISDICTION: null,
        LOCATION_HINT: null,
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
