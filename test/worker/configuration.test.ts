import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { Variables } from "../../src/config/variables.ts";
import { OPERATOR_EVENT_TYPES } from "../../src/config/operator-events.ts";
import { OBJECT_CLASSES } from "../../src/config/object-bindings.ts";
import { warningsOf } from "../../src/config/warnings.ts";
import { aReceiver } from "./receiver.ts";
import { call, callWith, ProblemBody } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { isolateOf } from "./isolates.ts";
import { started } from "./started.ts";
import { aCompletion, CALLBACK_URL } from "./tasks.ts";

useClock();

const MARK = "do-not-repeat-me";
const FLAGS = ["global_fetch_strictly_public", "durable_object_io_tasks_prevent_eviction"];
const REQUIRED = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };
const whsec = (bytes: number) => `whsec_${btoa("x".repeat(bytes))}`;
const jwk = (fields: object) =>
  JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "A".repeat(43), d: "B".repeat(43), ...fields });

/** Variables whose values are checked; the fuzz test of the configuration tries many wrong ones. */
const CHECKED =
  "CALLBACK_SCHEDULE_S CALLBACK_TIMEOUT_S RETENTION_DAYS TASK_DEADLINE_HOURS MAX_BODY_KB MAX_SUBMIT_MB SUBMIT_TIMEOUT_S ASYNC_TIMEOUT_S MAX_ASYNC_MB QUEUE_MINUTES SUBMIT_UNKNOWN_MINUTES MAX_OUTPUT_MB OFFERS ALLOW_LOCAL_CALLBACKS ALLOW_IP_CALLBACKS LOG PAUSED SANDBOX LISTEN ERROR_TEXT CONNECTIONS ARK_BASE_URL JURISDICTION LOCATION_HINT EVENTS_SECRETS OPERATOR_EVENTS OPERATOR_CALLBACK_FORMAT SILENCE_MINUTES".split(
    " ",
  );

/** Wrong values by variable, each under the words that describe it. */
const FAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  RELAY_SECRET: {
    missing: undefined,
    empty: "",
    blank: "  ",
    "shorter than 32 characters": `${MARK}-12345`,
    "a long secret and one that is too short": `${"r".repeat(32)} ${MARK}`,
  },
  OPERATOR_KEYS: {
    missing: undefined,
    empty: "",
    "shorter than 16 characters": "do-not-repeat",
    "a key with an unknown role": `do-not-repeat:${"o".repeat(16)}`,
    "the same key twice": "do-not-repeat-it read:do-not-repeat-it",
  },
  ...Object.fromEntries(CHECKED.map((name) => [name, { [`"${MARK}"`]: MARK }])),
  EXTRA_BASE_HOSTS: {
    "a host with a path": `gw.example.com/${MARK}`,
    "a URL with http:": `http://${MARK}.example.com`,
    "a URL with https:": `https://${MARK}.example.com`,
    "a host with a user name": `${MARK}@gw.example.com`,
    "a wildcard": `*.${MARK}.example.com`,
    "a valid host and a port of 6 digits": `gw.example.com ${MARK}:655360`,
  },
  INDEX_RETENTION_DAYS: { [`"${MARK}"`]: MARK, "0": 0, "29 (more than RETENTION_DAYS)": 29 },
  OUTPUT_DAYS: { [`"${MARK}"`]: MARK, "0": 0, "29 (more than RETENTION_DAYS)": 29 },
  OUTPUTS_URL: {
    "no URL": MARK,
    "a URL with a path": `https://outputs.example.com/${MARK}`,
    "a URL with a user name": `https://${MARK}@outputs.example.com/`,
  },
  RATE_LIMITS: { [`"${MARK}"`]: MARK, "an unknown rate limit": `default ${MARK}=5` },
  INDEX_SHARD_HOURS: { [`"${MARK}"`]: MARK, "1.5": 1.5 },
  OPERATOR_DIGEST_MINUTES: { [`"${MARK}"`]: MARK, "0": "0" },
  SETTLEMENT_URL: {
    "no URL": MARK,
    "a URL with an IP address": `https://8.8.8.8/${MARK}`,
    "a URL with a user name and a password": `https://user:${MARK}@billing.example.com/`,
  },
  OPERATOR_CALLBACK_URL: {
    "no URL": MARK,
    "a local URL": `http://127.1/${MARK}`,
    "a URL with a password only": `https://:${MARK}@operator.example.com/`,
  },
  PUBLIC_URL: { "no URL": MARK, "a URL with a user name": `https://${MARK}@relay.example.com/` },
  SIGNING_SECRETS: {
    "without the prefix whsec_": btoa(MARK.repeat(2)),
    "a secret of only 23 bytes": whsec(23),
    "a secret of 65 bytes": whsec(65),
    "no base64": `whsec_${MARK}-${MARK}-${MARK}`,
  },
  SIGNING_KEYS: {
    "no JSON": MARK,
    "a key of the wrong curve": jwk({ crv: "X25519" }),
    "a key without its private part": jwk({ d: undefined }),
    "a key whose two halves do not match": jwk({}),
  },
};

const CASES = Object.entries(FAULTS).flatMap(([name, values]) =>
  Object.entries(values).map(([fault, value]) => ({ name, fault, value })),
);

/** Returns a valid request to every route that needs the configuration. */
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

it.each(CASES)(
  "when the variable $name is $fault, the relay's 503 responses and /healthz name the variable, but show neither its invalid value nor any secret",
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

it("an isolate parses its configuration and imports its keys once, when it starts, and not again for each request or Durable Object call", async () => {
  const work = [vi.spyOn(Variables, "safeParse"), vi.spyOn(crypto.subtle, "importKey")];
  const bindings = { ...env };
  await isolateOf(bindings);
  const [parsed, imported] = work.map(({ mock }) => mock.calls.length);
  expect([parsed, imported]).toEqual([1, expect.any(Number)]);
  const id = crypto.randomUUID();
  for (const [path, message] of [
    ["/v1/tasks", { body: { id, model: "m", callback_url: CALLBACK_URL } }],
    [`/v1/tasks/${id}`, {}],
    ["/healthz", {}],
    ["/nowhere", {}],
  ] as const) {
    await callWith(bindings, path, message);
    await call(path, message);
  }
  expect(work.map(({ mock }) => mock.calls.length)).toEqual([parsed, imported]);
});

it("two relays with different configurations in one process each use their own, even for simultaneous requests", async () => {
  const relays = ["a", "b"].map((name) => {
    const OPERATOR_KEYS = `test-only-operator-key-of-${name}`;
    const RELAY_SECRET = `test-only-relay-secret-of-${name}`.padEnd(32, "-");
    const PUBLIC_URL = `https://${name}.example.org`;
    return {
      name,
      key: OPERATOR_KEYS,
      bindings: { ...env, OPERATOR_KEYS, RELAY_SECRET, PUBLIC_URL },
    };
  });
  const asked = relays.flatMap((relay) => relays.map(({ name, key }) => ({ relay, name, key })));
  const answers = asked.map(async ({ relay, name, key }) => {
    const response = await callWith(relay.bindings, "/v1/tasks", { key, body: { model: "m" } });
    const isOwn = name === relay.name;
    expect(response.status).toBe(isOwn ? 201 : 401);
    expect(await response.text()).toContain(`https://${relay.name}.example.org/`);
  });
  await Promise.all(answers);
  const secrets = relays.map(async ({ key, bindings }) => {
    return (await callWith(bindings, "/v1/signing-secrets", { key })).text();
  });
  expect(new Set(await Promise.all(secrets)).size).toBe(2);
});

it("when several variables of the relay are wrong, its response to a request names all of them", async () => {
  const bindings = { TASKS: env.TASKS, ACCOUNTS: env.ACCOUNTS, PAUSED: "maybe" };
  const response = await callWith(bindings, "/v1/tasks", { body: { model: "m" } });
  const { detail } = ProblemBody.parse(await response.json());
  for (const name of ["RELAY_SECRET", "OPERATOR_KEYS", "PAUSED"]) expect(detail).toContain(name);
});

it.each(Object.entries(OBJECT_CLASSES))(
  "a relay without the binding %s answers 503, and names the binding and its class",
  async (name, className) => {
    const bindings = { ...env, [name]: undefined };
    const response = await callWith(bindings, "/v1/tasks", { body: { model: "m" } });
    const { code, detail } = ProblemBody.parse(await response.json());
    expect([response.status, code]).toEqual([503, "not_configured"]);
    expect(detail).toContain(`${name} must be bound to the class ${className}`);
    const health = await callWith(bindings, "/healthz", { key: null });
    expect([health.status, await health.json()]).toMatchObject([503, { issues: [{ path: name }] }]);
  },
);

it("the configuration accepts numbers and booleans of TOML, and reads a blank variable as not set", async () => {
  const typed = { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2, PUBLIC_URL: " " };
  const response = await callWith({ ...env, ...typed }, "/healthz");
  expect(await response.json()).toMatchObject({
    configuration: { MAX_BODY_KB: 1, PAUSED: false, CALLBACK_TIMEOUT_S: 2, PUBLIC_URL: null },
  });
});

it.each([
  "CALLBACK_TIMEOUT_S",
  "RETENTION_DAYS",
  "TASK_DEADLINE_HOURS",
  "MAX_BODY_KB",
  "MAX_SUBMIT_MB",
  "SUBMIT_UNKNOWN_MINUTES",
  "INDEX_RETENTION_DAYS",
  "INDEX_DELAY_S",
  "INDEX_SHARD_HOURS",
])("the variable %s is refused unless it is a whole number in decimal digits", (name) => {
  for (const value of ["0x5", "1e1", "1.5", 1.5, "5.0", "+5", "-5", "0", "٥", "9".repeat(400)]) {
    const result = parseConfig({ ...REQUIRED, [name]: value }, Cloudflare.compatibilityFlags);
    const message = expect.stringMatching(/^must be a whole number from 1 to \d+$/);
    expect([value, result]).toEqual([value, { ok: false, error: [{ path: name, message }] }]);
  }
});

it.each(FLAGS)(
  "the configuration is refused without the compatibility flag %s, which wrangler.toml sets",
  (flag) => {
    const others = Object.fromEntries(FLAGS.map((each) => [each, each !== flag]));
    const error = [{ path: "compatibility_flags", message: `must contain ${flag}` }];
    expect(parseConfig(REQUIRED, others)).toEqual({ ok: false, error });
    const result = parseConfig({ ...REQUIRED, ALLOW_LOCAL_CALLBACKS: "true" }, others);
    expect(result.ok).toBe(flag === "global_fetch_strictly_public");
    expect(Cloudflare.compatibilityFlags[flag]).toBe(true);
  },
);

it.each([
  ["ALLOW_IP_CALLBACKS", "accepts", "https://8.8.8.8/"],
  ["ALLOW_IP_CALLBACKS", "accepts", "http://10.0.0.1:9000/"],
  ["ALLOW_LOCAL_CALLBACKS", "accepts", "http://127.0.0.1:9000/"],
  ["ALLOW_LOCAL_CALLBACKS", "refuses", "http://10.0.0.1:9000/"],
])(
  "when %s is set, the configuration %s the URL %s as SETTLEMENT_URL and OPERATOR_CALLBACK_URL",
  (name, verb, url) => {
    const flags = Object.fromEntries(FLAGS.map((each) => [each, true]));
    const vars = { ...REQUIRED, [name]: "true", SETTLEMENT_URL: url, OPERATOR_CALLBACK_URL: url };
    expect(parseConfig(vars, flags).ok).toBe(verb === "accepts");
  },
);

it("GET /healthz answers anyone with the status ok, the version and whether the relay is paused, and nothing more", async () => {
  const VERSION = { id: "version-1", tag: "", timestamp: "" };
  for (const key of [null, "wrong"]) {
    const response = await callWith({ ...env, VERSION, PAUSED: "true" }, "/healthz", { key });
    const body = { status: "ok", version: "version-1", paused: true };
    expect([response.status, await response.json()]).toEqual([200, body]);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
  }
});

it("GET /healthz shows the operator the value in effect of every setting, but of secrets only their number", async () => {
  const VERSION = { id: "version-1", tag: "", timestamp: "" };
  const response = await callWith({ ...env, VERSION }, "/healthz");
  expect(await response.json()).toEqual({
    status: "ok",
    version: "version-1",
    paused: false,
    configuration: {
      CALLBACK_SCHEDULE_S: "0,180,600",
      CALLBACK_TIMEOUT_S: 10,
      RETENTION_DAYS: 28,
      TASK_DEADLINE_HOURS: 72,
      MAX_BODY_KB: 256,
      MAX_SUBMIT_MB: 16,
      OUTPUTS: false,
      OUTPUTS_S3_URL: null,
      OUTPUTS_S3_REGION: null,
      OUTPUTS_S3_BUCKET: null,
      OUTPUTS_URL: "https://relay.example.com",
      OUTPUT_DAYS: 3,
      MAX_OUTPUT_MB: 1024,
      SUBMIT_TIMEOUT_S: 90,
      ASYNC_TIMEOUT_S: 600,
      QUEUE_MINUTES: 60,
      MAX_ASYNC_MB: 32,
      SUBMIT_UNKNOWN_MINUTES: 60,
      OFFERS: [],
      ALLOW_LOCAL_CALLBACKS: false,
      ALLOW_IP_CALLBACKS: false,
      EXTRA_BASE_HOSTS: "",
      PAUSED: false,
      LOG: "all",
      PLAN: "paid",
      RATE_LIMITS: "",
      ERROR_TEXT: "upstream",
      OPERATOR_CALLBACK_URL: null,
      OPERATOR_EVENTS: OPERATOR_EVENT_TYPES.join(" "),
      OPERATOR_DIGEST_MINUTES: null,
      SILENCE_MINUTES: null,
      OPERATOR_CALLBACK_FORMAT: "standard",
      INDEX_DB: false,
      INDEX_OBJECT: false,
      INDEX_RETENTION_DAYS: 7,
      INDEX_DELAY_S: 30,
      INDEX_SHARD_HOURS: null,
      SANDBOX: false,
      LISTEN: true,
      JURISDICTION: null,
      LOCATION_HINT: null,
      PUBLIC_URL: "https://relay.example.com",
      SETTLEMENT_URL: null,
      LIMIT_TESTS: false,
      LIMIT_BULK: false,
      LIMIT_LISTS: false,
      LIMIT_SUBMITS: false,
      LIMIT_LINKS: false,
      LIMIT_REFUSALS: false,
      secrets: {
        RELAY_SECRET: 1,
        OPERATOR_KEYS: 2,
        SIGNING_SECRETS: 0,
        EVENTS_SECRETS: 0,
        SIGNING_KEYS: 0,
      },
    },
    connections: {},
    pools: {},
    without_key: expect.objectContaining({ ark: expect.anything() }),
    disabled: [],
    index: null,
    store: null,
  });
});

it("GET /healthz shows the operator the offers in a form that, set as OFFERS again, has the same meaning", async () => {
  const rule = { values: null, min: null, max: null, optional: false };
  const OFFERS = [
    {
      connection: "ark",
      path: "/v1/jobs",
      models: ["a-*", "b"],
      limits: {
        "/duration": { ...rule, min: 1, max: 10, optional: true },
        "?size": { ...rule, values: ["720p", 5, true] },
      },
      price: { credits: 60 },
    },
    { connection: "fal", path: null, models: ["*"], limits: {}, price: null },
    {
      connection: "ark",
      path: null,
      models: ["*"],
      limits: {},
      price: {
        hold: 200,
        min: 10,
        per: { usage: "completion_tokens", units: 1_000_000, credits: 15_000 },
      },
    },
  ];
  const short = { connection: "fal", models: ["*"] };
  const limits = { "/duration": { min: 1, max: 10, optional: true }, "?size": ["720p", 5, true] };
  const written = JSON.stringify([{ ...OFFERS[0], limits }, short, OFFERS[2]]);
  for (const value of [written, JSON.stringify(OFFERS)]) {
    const response = await callWith({ ...env, OFFERS: value }, "/healthz");
    expect(await response.json()).toMatchObject({ configuration: { OFFERS } });
  }
});

const PUBLIC_URL = "https://relay.example.com";
const OF_OTHERS =
  "API_BASE_URL AWS_API_KEY AI_API_KEY XI_API_KEY SITE_BASE_URL STRIPE_WEBHOOK_SECRET".split(" ");
const MISSPELT = { CALLBACK_SCHEDULE_SECONDS: "0", RELAY_SECRETS: "x", GREETING: "hello" };

const WARNED: readonly (readonly [string, readonly string[], object])[] = [
  [
    "a valid configuration with misspelt names, without PUBLIC_URL, and with PAUSED and local callbacks",
    ["PAUSED", "ALLOW_LOCAL_CALLBACKS", "PUBLIC_URL", "CALLBACK_SCHEDULE_SECONDS", "RELAY_SECRETS"],
    { ...MISSPELT, PUBLIC_URL: "", PAUSED: "true", ALLOW_LOCAL_CALLBACKS: "true" },
  ],
  ["a configuration with PUBLIC_URL", [], { PUBLIC_URL }],
  [
    "a configuration with variables of other Workers",
    [],
    { PUBLIC_URL, ...Object.fromEntries(OF_OTHERS.map((name) => [name, "x"])) },
  ],
  [
    "misspelt variables of connections",
    ["CONNECTION", "CONECTIONS_2", "ARK_APIKEY", "MINMAX_BASE_URL"],
    { PUBLIC_URL, CONNECTION: "{}", CONECTIONS_2: "{}", ARK_APIKEY: "x", MINMAX_BASE_URL: "x" },
  ],
  ["an invalid configuration", ["MAX_BODY_KB"], { MAX_BODY_KB: "large", PAUSED: "true" }],
];

it.each(WARNED.map(([what, ...row]) => [what, row[0].join(", ") || "none", ...row] as const))(
  "with %s, the relay warns about exactly these variables: %s",
  (_what, _names, expected, changes) => {
    const vars = { ...env, ...changes };
    const found = warningsOf(vars, parseConfig(vars, Cloudflare.compatibilityFlags));
    expect(found.map(({ path }) => path)).toEqual(expected);
  },
);

it("when the two halves of a key in SIGNING_KEYS do not match, which only its import shows, the relay warns about SIGNING_KEYS", async () => {
  const { startup } = await started({ ...env, SIGNING_KEYS: jwk({}), PUBLIC_URL });
  expect(startup.runtime.ok).toBe(false);
  expect(startup.warnings.map(({ path }) => path)).toEqual(["SIGNING_KEYS"]);
});

it("the relay logs a warning about a variable once per isolate", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const isolate = { ...env, CALLBACK_SCHEDULE_SECOND: "0" };
  for (let i = 0; i < 2; i++) await callWith(isolate, "/healthz");
  const lines = warned.mock.calls.map(([line]) => JSON.parse(String(line)));
  const warnings = lines.filter(({ variable }) => variable === "CALLBACK_SCHEDULE_SECOND");
  const detail = "is not known: CALLBACK_SCHEDULE_S is";
  expect(warnings).toMatchObject([{ event: "config.warning", detail }]);
});
