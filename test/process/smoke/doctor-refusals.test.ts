import { expect, it } from "vitest";
import type { UploadRule } from "../../../scripts/deploy/outputs-bucket.ts";
import { clockFinding } from "../../../scripts/doctor/clock.ts";
import { configurationFindings, healthOf } from "../../../scripts/doctor/configuration.ts";
import { examine, NoRelay } from "../../../scripts/doctor/examine.ts";
import { lineOf } from "../../../scripts/doctor/finding.ts";
import { checkOffers, offerFindings } from "../../../scripts/doctor/offers.ts";
import { uploadRuleFinding } from "../../../scripts/doctor/outputs.ts";
import { indexFindings } from "../../../scripts/doctor/index-state.ts";
import { type Answer, Relay } from "../../../scripts/doctor/relay.ts";
import { RATE_LIMITS } from "../../../src/config/rate-limits.ts";
import { OPERATOR_KEY } from "../harness/client.ts";
import { LoopbackServer } from "../harness/loopback.ts";

/** Server that answers in place of the relay. */
interface Fake {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_OF_RELAY = { "Content-Type": "application/json", "X-Request-Id": "r-1" };
const UNAVAILABLE = { status: 503, headers: JSON_OF_RELAY, body: '{"code":"unavailable"}' };
const NGINX = { status: 404, headers: { Server: "nginx/1.29" }, body: "<h1>Not Found</h1>" };
const MOVED = { status: 301, headers: { Location: "https://www.example.com/hooks" } };
const ACCESS = { Location: "https://a.cloudflareaccess.com/login?x=1" };

const MANAGED_RULE =
  "403 by the WAF (a managed rule), not by the relay. Cure: turn Bot Fight Mode off";

/**
 * Builds an answer that Cloudflare gives instead of the Worker; a number stands for the page of that error
 * code.
 */
function edge(status: number, content: string | number = "", more = {}): Fake {
  const body = typeof content === "string" ? content : `error code: ${content}`;
  return { status, headers: { Server: "cloudflare", "CF-RAY": "9a1-FRA", ...more }, body };
}

function blocked(code: number): Fake {
  const error = `<h2>Error <span class="cf-error-code">${code}</span></h2>`;
  return edge(403, `${error}<title>Access denied</title>`);
}

const CHALLENGE = edge(403, "Just a moment...", { "cf-mitigated": "challenge" });

/** Services that refuse a hook, their answer, and the report of the doctor about it. */
const REFUSALS: readonly (readonly [string, Fake, string])[] = [
  [
    "a managed rule of the Cloudflare WAF",
    edge(403, "Attention Required! | Cloudflare"),
    MANAGED_RULE,
  ],
  ["a challenge page of Cloudflare", CHALLENGE, "by a challenge of Cloudflare"],
  ["Cloudflare with a block of the IP address", edge(403, 1003), "by IP address"],
  ["Cloudflare because the name has no Worker", edge(404, 1042), "1042: no Worker"],
  ["the browser integrity check of Cloudflare", blocked(1010), "Browser Integrity Check"],
  ["a custom rule of the Cloudflare WAF", blocked(1020), "a WAF custom rule"],
  ["a country block of Cloudflare", blocked(1009), "a country block"],
  ["a rate limit of Cloudflare with an error code", edge(429, 1015), "a rate-limiting rule"],
  ["a rate limit of Cloudflare without an error code", edge(429), "a rate-limiting rule"],
  ["Cloudflare's daily limit of requests", edge(429, 1027), "Free plan's daily"],
  ["an uncaught exception of the Worker", edge(500, 1101), "the Worker threw"],
  ["Cloudflare's limit of CPU time", edge(503, 1102), "CPU time exceeded"],
  ["Cloudflare's spending limit", edge(503, 1103), "spending limit"],
  ["an unknown error code of Cloudflare", edge(409, 1099), "error code 1099"],
  [
    "Cloudflare because the origin server is down",
    edge(522),
    "Cloudflare (522: it asked an origin server)",
  ],
  [
    "workers.dev because no Worker has that name",
    edge(404, "<h1>There is nothing here yet</h1>"),
    "workers.dev (no such Worker)",
  ],
  ["the login page of Cloudflare Access", edge(302, "", ACCESS), "Cloudflare Access"],
  ["another web server", NGINX, "another server (nginx/1.29)"],
  ["a redirect to another host", MOVED, "it redirects to https://www.example.com"],
  ["the relay itself with 503", UNAVAILABLE, "hooks: the relay answered 503 unavailable"],
];

/** Examines a server whose `/healthz` and hooks answer as given. */
async function examined(health: Fake, hook: Fake): Promise<readonly string[]> {
  await using server = await new LoopbackServer((request, response) => {
    const { status, headers = {}, body = "" } = request.url === "/healthz" ? health : hook;
    response.writeHead(status, headers).end(body);
  }).listen();
  const relay = new Relay(server.origin, OPERATOR_KEY);
  const url = new URL(server.origin);
  const place = { relay, url, isLocal: true, isPreview: false, keyFile: ".dev.vars", bucket: null };
  return (await examine({ ...place, to: null })).map(lineOf);
}

const healthy: Fake = { status: 200, headers: JSON_OF_RELAY, body: '{"status":"ok"}' };

it.each(REFUSALS)(
  "npm run doctor reports a problem with its cure when its request to the hook route is answered by %s",
  async (_, fake, expected) => {
    const lines = await examined(healthy, fake);
    const line = lines.find((each) => each.includes("hooks: "));
    expect(line).toContain(expected);
    expect(line).toMatch(/^PROBLEM .+\. Cure: ./);
  },
);

it.each(REFUSALS.slice(0, -1))(
  "npm run doctor stops with one line that has cause and cure when all its requests are answered by %s",
  async (_, fake) => {
    const oneLine = /^http:\S+ answered \d{3} by .+\. Cure: .+$/;
    await expect(examined(fake, fake)).rejects.toThrow(oneLine);
    await expect(examined(fake, fake)).rejects.toThrow(NoRelay);
  },
);

function anAnswer(json: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const at = Date.UTC(2026, 10, 22);
  const body = typeof json === "string" ? json : JSON.stringify(json);
  return { status: 200, headers: new Headers(headers), text: body, json, at };
}

const SETTINGS = {
  ALLOW_LOCAL_CALLBACKS: false,
  PAUSED: false,
  PLAN: "paid",
  PUBLIC_URL: "https://relay.example.com",
  OUTPUTS: false,
  OUTPUTS_URL: null,
  OUTPUT_DAYS: 7,
  secrets: { RELAY_SECRET: 1, OPERATOR_KEYS: 2 },
};

interface Examined {
  /** Version of the Worker; undefined stands for one that the answer does not have. */
  readonly version?: string | null;
  readonly connections?: object;
  readonly without_key?: object;
  readonly store?: object;
  readonly isPreview?: boolean;
}

function findings(
  url: string,
  settings: object,
  { isPreview = false, connections = {}, ...others }: Examined = {},
): string {
  const configuration = { ...SETTINGS, ...settings };
  const answer = anAnswer({ configuration, connections, disabled: [], without_key: {}, ...others });
  const health = healthOf(answer);
  if (health === null) throw new Error("expected settings");
  const deployment = { url: new URL(url), isLocal: false, isPreview };
  return configurationFindings(health, deployment).map(lineOf).join("\n");
}

const OWN = "https://relay.example.com";
const ON_D1 = { plan: "paid", isIndexInObject: false } as const;

it("for a relay on plain workerd, which shows no version at /healthz, npm run doctor proposes no wrangler commands, and says where its variables stand", () => {
  const plain = findings(OWN, {}, { version: null });
  expect(plain).toMatch(/^ok +host: plain workerd, .+\/etc\/task-relay\.env/m);
  expect(plain).toContain("limit nothing (RATE_LIMITS=default, and restart)");
  const faulty = {
    PUBLIC_URL: null,
    PAUSED: true,
    ALLOW_LOCAL_CALLBACKS: true,
    ...Object.fromEntries(RATE_LIMITS.map((name) => [name, true])),
  };
  const connections = { ark: { key: "refused" } };
  const cures = findings(OWN, faulty, { version: null, connections });
  expect(cures.match(/Cure: .+ and restart$/gm)).toHaveLength(4);
  for (const lines of [plain, cures]) expect(lines).not.toMatch(/wrangler|npm run|deploy/);
  const deployed = findings(OWN, {}, { version: "8f3a" });
  expect(deployed).not.toContain("plain workerd");
  expect(deployed).toContain("[[ratelimits]] in wrangler.toml");
  const disabled = { ...anAnswer({ code: "index_disabled" }), status: 501 };
  const [late] = indexFindings(disabled, anAnswer(""), ON_D1, true).map(lineOf);
  expect(late).toContain("there is no index (bind INDEX_OBJECT as in ops/workerd.capnp)");
  const failing = { ...anAnswer({ code: "unavailable" }), status: 503 };
  const index = { lag_ms: { p95: 90_000 }, overdue: { tasks: 0, oldest_age_ms: null } };
  for (const stats of [failing, anAnswer({ counted_at: 7, index })]) {
    const [found] = indexFindings(stats, anAnswer(""), ON_D1, true).map(lineOf);
    expect(found).toMatch(/^PROBLEM +index: .+ Cure: /);
    expect(found).not.toMatch(/wrangler|npm run/);
  }
});
const HTTP = "http://relay.example.com";
const WORKERS_DEV = "https://relay.me.workers.dev";

it("npm run doctor reports no problem with a correctly configured public relay on a domain other than workers.dev", () => {
  expect(findings(OWN, {})).not.toContain("PROBLEM");
});

it.each([
  ["without PUBLIC_URL", OWN, { PUBLIC_URL: null }, "PUBLIC_URL is not set"],
  [
    "at an address of workers.dev, without PUBLIC_URL",
    WORKERS_DEV,
    { PUBLIC_URL: null },
    "PUBLIC_URL is not set",
  ],
  ["with another PUBLIC_URL", OWN, { PUBLIC_URL: "https://b.example.com" }, "sent to PUBLIC_URL"],
  [
    "at an address of workers.dev",
    WORKERS_DEV,
    { PUBLIC_URL: WORKERS_DEV },
    "workers.dev cannot be reached",
  ],
  ["with ALLOW_LOCAL_CALLBACKS", OWN, { ALLOW_LOCAL_CALLBACKS: true }, "ALLOW_LOCAL_CALLBACKS"],
  ["with PAUSED", OWN, { PAUSED: true }, "PAUSED stops all callbacks"],
  ["at an http:// address", HTTP, { PUBLIC_URL: HTTP }, "unencrypted"],
])(
  "npm run doctor reports a problem with its cure for a public relay %s",
  (_, url, settings, expected) => {
    expect(findings(url, settings)).toMatch(new RegExp(`PROBLEM .*${expected}.*Cure: `));
  },
);

it("npm run doctor does not report a preview for being paused or for having no domain of its own", () => {
  const preview = { PUBLIC_URL: WORKERS_DEV, PAUSED: true };
  const lines = findings(WORKERS_DEV, preview, { isPreview: true });
  expect(lines).not.toContain("PROBLEM");
});

it("npm run doctor reports providers that refuse the relay's API key, provider accounts without money, and providers whose expected hooks do not come", () => {
  const connections = {
    ark: { key: "refused" },
    fal: { key: "set", hooks: "missing", funds_refused_at: 7 },
  };
  const lines = findings(OWN, {}, { connections });
  expect(lines).toContain("PROBLEM      providers: ark refuses its API key. Cure: ");
  expect(lines).toContain("PROBLEM      providers: fal has no money left. Cure: ");
  expect(lines).toContain("PROBLEM      providers: no hooks of fal come. Cure: ");
});

const OFFER = {
  connection: "ark",
  key: null,
  path: null,
  models: ["*"],
  limits: { "/duration": { values: null, min: null, max: 10, optional: false } },
  price: { credits: 60 },
};
type ShownOffer = NonNullable<Parameters<typeof offerFindings>[0][number]["offer"]>;
const PRICE_BY_USAGE = {
  hold: 200,
  min: 0,
  per: { usage: "completion_tokens", units: 1, credits: 1 },
};

/** Returns what the doctor says about offers of a relay whose connections `fal` and `sandbox` have no key. */
function offerLines(...offers: readonly ShownOffer[]): readonly string[] {
  const without = { fal: { needs: ["FAL_KEY"] }, sandbox: { needs: [] } };
  const shown = offers.map((offer, i) => ({ name: `offer-${i}`, disabled: null, offer }));
  return offerFindings(shown, without, "deploy").map(lineOf);
}

it("npm run doctor warns, but reports no problem, when an offer with a price has no limits or its connection has no API key", () => {
  const offers = [
    OFFER,
    { ...OFFER, limits: {} },
    { ...OFFER, connection: "fal" },
    { ...OFFER, connection: "fal", limits: {}, price: { credits: 1 } },
    { ...OFFER, limits: {}, price: PRICE_BY_USAGE },
  ];
  expect(offerLines(...offers)).toEqual([
    expect.stringMatching(/^warning {6}offers: offer-1 has the same price .* to ark, .*\. Cure: /),
    expect.stringMatching(/^warning {6}offers: offer-2 names fal, .* key\. Cure: set FAL_KEY /),
    expect.stringMatching(/^warning {6}offers: offer-3 has the same price .* to fal, /),
    expect.stringMatching(/^warning {6}offers: offer-3 names fal, /),
    expect.stringMatching(
      /^warning {6}offers: offer-4 has no limits, .* at ark may cost more than the hold .*\. Cure: /,
    ),
  ]);
});

it("npm run doctor counts, without a warning, offers that have limits, are for customers' own keys, lead to the sandbox, or are free and unlimited", () => {
  const free = { ...OFFER, limits: {}, price: null };
  const own: ShownOffer = { ...OFFER, connection: "fal", key: "customer", limits: {} };
  expect(offerLines(OFFER, free, own, { ...OFFER, connection: "sandbox" })).toEqual([
    "ok           offers: 4",
  ]);
});

it("npm run doctor reports each disabled offer as a problem, with the reason, and reads all pages of offers", async () => {
  const disabled = { path: "/connection", message: "must be a connection of the relay" };
  const pages: Readonly<Record<string, object>> = {
    "/v1/offers?limit=500&cursor=": {
      data: [{ name: "a", disabled: null, offer: OFFER }],
      next_cursor: "a",
    },
    "/v1/offers?limit=500&cursor=a": {
      data: [{ name: "b", disabled, offer: OFFER }],
      next_cursor: null,
    },
  };
  await using server = await new LoopbackServer((request, response) => {
    response.writeHead(200, JSON_OF_RELAY).end(JSON.stringify(pages[request.url ?? ""]));
  }).listen();
  const lines = (await checkOffers(new Relay(server.origin, OPERATOR_KEY), {}, "deploy")).map(
    lineOf,
  );
  expect(lines).toEqual([
    expect.stringMatching(
      /^PROBLEM {6}offers: b is disabled: \/connection must be a connection of the relay\. Cure: /,
    ),
  ]);
});

it("npm run doctor says nothing about offers when the relay has none", () => {
  expect(offerLines()).toEqual([]);
});

const KEPT = { OUTPUTS: true, OUTPUTS_URL: "https://outputs.example.net", OUTPUT_DAYS: 7 };

it.each([
  [
    "no problem, but the days and the host of the links,",
    "of a relay whose OUTPUTS_URL has a host of its own",
    KEPT,
    /^ok +outputs: kept for 7 days, links lead to https:\/\/outputs\.example\.net$/m,
  ],
  [
    "a warning",
    "of a relay whose OUTPUTS_URL has the host of the console",
    { ...KEPT, OUTPUTS_URL: OWN },
    /^warning +outputs: .*, which is the host of the console\. Cure: npm run setup -- --outputs --outputs-domain /m,
  ],
  [
    "a problem",
    "of a relay with neither OUTPUTS_URL nor PUBLIC_URL",
    { ...KEPT, OUTPUTS_URL: null, PUBLIC_URL: null },
    /^PROBLEM +outputs: neither OUTPUTS_URL nor PUBLIC_URL is set, so that links stay those of the upstream\. Cure: /m,
  ],
  [
    "no problem",
    "of a relay without the bucket OUTPUTS",
    { ...KEPT, OUTPUTS: false },
    /^ok +outputs: not kept, links are the upstream's unless they need its key/m,
  ],
])("npm run doctor reports %s about the outputs %s", (_, _place, settings, expected) => {
  expect(findings(OWN, settings)).toMatch(expected);
});

const STORE = {
  ...KEPT,
  OUTPUTS_S3_URL: "https://s3.example.net",
  OUTPUTS_S3_BUCKET: "films",
};

it.each([
  [
    "no problem when it has answered",
    null,
    /^ok +outputs: bucket films at https:\/\/s3\.example\.net can be read$/m,
  ],
  [
    "a problem, and what it has answered, when it refuses",
    "the store of outputs answered 403 SignatureDoesNotMatch",
    /^PROBLEM +outputs: bucket films at https:\/\/s3\.example\.net: the store of outputs answered 403 SignatureDoesNotMatch\. Cure: /m,
  ],
])("npm run doctor reports about an S3-compatible store %s", (_, fault, expected) => {
  expect(findings(OWN, STORE, { store: { fault } })).toMatch(expected);
});

const NO_LOGIN = { isSuccess: false, stdout: "", stderr: "", notes: [] };

it.each<readonly [string, UploadRule, string]>([
  [
    "no problem when the rule is set",
    { kind: "set" },
    "ok           outputs: bucket kept-here aborts",
  ],
  [
    "a problem when the rule is missing",
    { kind: "not set" },
    "PROBLEM      outputs: bucket kept-here",
  ],
  [
    "nothing checked when the login's account has no such bucket",
    { kind: "no bucket" },
    "not checked  outputs: the Cloudflare account of this login has no bucket kept-here",
  ],
  [
    "nothing checked when wrangler cannot read the rule",
    { kind: "unknown", run: NO_LOGIN },
    "not checked  outputs: wrangler cannot read",
  ],
])(
  "npm run doctor reports this about the rule by which the bucket of outputs aborts unfinished uploads: %s",
  (_, rule, expected) => {
    expect(lineOf(uploadRuleFinding("kept-here", rule))).toContain(expected);
  },
);

const NOW = anAnswer({}).at;

it.each([
  ["no problem", "60 s ahead of", 60_000, "ok"],
  ["no problem", "60 s behind", -60_000, "ok"],
  ["the difference and a cure", "61 s ahead of", 61_000, "61 s ahead of this machine. Cure: "],
  ["the difference and a cure", "400 s behind", -400_000, "400 s behind this machine. Cure: "],
])(
  "npm run doctor accepts clocks that differ by at most 60 s: it reports %s when the relay's Date header is %s the clock of this machine",
  (_, _difference, ms, expected) => {
    const answer = anAnswer({}, { Date: new Date(NOW + ms).toUTCString() });
    expect(lineOf(clockFinding(answer, null))).toContain(expected);
  },
);

it("when the relay's response has no Date header, npm run doctor compares the clock of this machine with the time in a callback", () => {
  const callback = { sentAtS: NOW / 1000 + 90, arrivedAt: NOW };
  expect(lineOf(clockFinding(anAnswer({}), callback))).toContain("90 s ahead of");
  expect(clockFinding(anAnswer({}), null).kind).toBe("unchecked");
});

function indexLines(
  index: object,
  metrics = "",
  countedAt: number | null = NOW / 1000,
  plan: "paid" | "free" = "paid",
  isIndexInObject = false,
): string {
  const overdue = { tasks: 0, oldest_age_ms: null };
  const counts = { lag_ms: { p95: 900 }, overdue, ...index };
  const stats = anAnswer({ counted_at: countedAt, index: counts });
  const store = { plan, isIndexInObject };
  return indexFindings(stats, anAnswer(metrics), store).map(lineOf).join("\n");
}

const TWO_SIZES =
  'task_relay_index_bytes{shard="0"} 5\ntask_relay_index_bytes{shard="1"} 6000000000';

it("npm run doctor reports no problem with an index that is up to date", () => {
  expect(indexLines({}, "task_relay_index_bytes 5999999999\n")).not.toContain("PROBLEM");
  const onFree = indexLines({}, "task_relay_index_bytes 299999999\n", NOW / 1000, "free");
  expect(onFree).toContain("index size: 300 MB of 500 MB");
  expect(onFree).not.toContain("PROBLEM");
});

it("npm run doctor reports no problem with an index of any size that lies in an object", () => {
  const lines = indexLines({}, "task_relay_index_bytes 20000000000\n", NOW / 1000, "paid", true);
  expect(lines).toContain("index size: 20,000 MB");
  expect(lines).not.toContain("PROBLEM");
});

it("npm run doctor says when nothing was written to the index in the last day, and when the relay has not counted the index yet", () => {
  const empty = { lag_ms: { p95: null } };
  expect(indexLines(empty)).toContain("index: on; nothing was written in the last day");
  expect(indexLines(empty, "", null)).toContain("index: on; not counted yet");
});

it.each([
  [
    "gets its rows with a delay of 61 s (the 95th percentile)",
    { lag_ms: { p95: 61_000 } },
    "",
    "index: 95 % of the rows arrive within 61 s. Cure: ",
  ],
  [
    "has 3 overdue tasks",
    { overdue: { tasks: 3, oldest_age_ms: 700_000 } },
    "",
    "3 tasks .*, the oldest by 12 min. Cure",
  ],
  ["has a database of 6 GB", {}, TWO_SIZES, "6,000 MB of 10,000 MB"],
])("npm run doctor reports a problem when the index %s", (...row) => {
  const [, index, metrics, expected] = row;
  expect(indexLines(index, metrics)).toMatch(new RegExp(`PROBLEM .*${expected}`));
});

it("npm run doctor reports a problem when the index of a relay on the Free plan has a database of 300 MB", () => {
  const lines = indexLines({}, "task_relay_index_bytes 300000000\n", NOW / 1000, "free");
  expect(lines).toMatch(/PROBLEM .*300 MB of 500 MB/);
});

it("npm run doctor reports a problem with the index when the index database does not answer", () => {
  const answer = { ...anAnswer({ code: "unavailable" }), status: 503 };
  const [finding] = indexFindings(answer, answer, ON_D1);
  expect(finding && lineOf(finding)).toContain("PROBLEM      index: the relay answered 503");
});
