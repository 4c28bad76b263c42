import { describe, expect, it } from "vitest";
import { clockFinding } from "../../../scripts/doctor/clock.ts";
import { configurationFindings, healthOf } from "../../../scripts/doctor/configuration.ts";
import { examine, NoRelay } from "../../../scripts/doctor/examine.ts";
import { lineOf } from "../../../scripts/doctor/finding.ts";
import { indexFindings } from "../../../scripts/doctor/index-state.ts";
import { type Answer, Relay } from "../../../scripts/doctor/relay.ts";
import { OPERATOR_KEY } from "../harness/client.ts";
import { LoopbackServer } from "../harness/loopback.ts";

/** What answers in place of the relay. */
interface Fake {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const EDGE = { Server: "cloudflare", "CF-RAY": "9a1-FRA" };
const JSON_OF_RELAY = { "Content-Type": "application/json", "X-Request-Id": "r-1" };
const page = (code: number) =>
  `<h2>Error <span class="cf-error-code">${code}</span></h2><title>Access denied</title>`;

/** Every refusal that can stand in the way of a hook, with what the doctor says about it. */
const REFUSALS: readonly (readonly [string, Fake, string])[] = [
  [
    "a managed rule",
    { status: 403, headers: EDGE, body: "Attention Required! | Cloudflare" },
    "403 by the WAF (a managed rule), not by the relay. Cure: turn Bot Fight Mode off",
  ],
  [
    "a challenge",
    { status: 403, headers: { ...EDGE, "cf-mitigated": "challenge" }, body: "Just a moment..." },
    "by a challenge of Cloudflare",
  ],
  ["an address", { status: 403, headers: EDGE, body: "error code: 1003" }, "by IP address"],
  ["no Worker", { status: 404, headers: EDGE, body: "error code: 1042" }, "1042: no Worker"],
  ["browser checks", { status: 403, headers: EDGE, body: page(1010) }, "Browser Integrity Check"],
  ["a custom rule", { status: 403, headers: EDGE, body: page(1020) }, "a WAF custom rule"],
  ["a country rule", { status: 403, headers: EDGE, body: page(1009) }, "a country block"],
  [
    "a rate limit",
    { status: 429, headers: EDGE, body: "error code: 1015" },
    "a rate-limiting rule",
  ],
  ["a bare rate limit", { status: 429, headers: EDGE }, "a rate-limiting rule"],
  [
    "the daily limit",
    { status: 429, headers: EDGE, body: "error code: 1027" },
    "Free plan's daily",
  ],
  ["an exception", { status: 500, headers: EDGE, body: "error code: 1101" }, "the Worker threw"],
  ["CPU time", { status: 503, headers: EDGE, body: "error code: 1102" }, "CPU time exceeded"],
  ["a spending limit", { status: 503, headers: EDGE, body: "error code: 1103" }, "spending limit"],
  ["an unknown code", { status: 409, headers: EDGE, body: "error code: 1099" }, "error code 1099"],
  ["a dead origin", { status: 522, headers: EDGE }, "Cloudflare (522: it asked an origin server)"],
  [
    "an empty name",
    { status: 404, headers: EDGE, body: "<h1>There is nothing here yet</h1>" },
    "workers.dev (no such Worker)",
  ],
  [
    "a login",
    { status: 302, headers: { ...EDGE, Location: "https://a.cloudflareaccess.com/login?x=1" } },
    "Cloudflare Access",
  ],
  [
    "another server",
    { status: 404, headers: { Server: "nginx/1.29" }, body: "<h1>Not Found</h1>" },
    "another server (nginx/1.29)",
  ],
  [
    "a redirect",
    { status: 301, headers: { Location: "https://www.example.com/hooks" } },
    "it redirects to https://www.example.com",
  ],
  [
    "the relay itself",
    { status: 503, headers: JSON_OF_RELAY, body: '{"code":"unavailable"}' },
    "hooks: the relay answered 503 unavailable",
  ],
];

/** Examines a server whose `/healthz` and hooks answer as given. */
async function examined(health: Fake, hook: Fake): Promise<readonly string[]> {
  await using server = await new LoopbackServer((request, response) => {
    const { status, headers = {}, body = "" } = request.url === "/healthz" ? health : hook;
    response.writeHead(status, headers).end(body);
  }).listen();
  const relay = new Relay(server.origin, OPERATOR_KEY);
  const url = new URL(server.origin);
  return (await examine({ relay, url, isLocal: true, to: null })).map(lineOf);
}

const healthy: Fake = { status: 200, headers: JSON_OF_RELAY, body: '{"status":"ok"}' };

describe("the doctor", () => {
  it.each(REFUSALS)("names %s that answers a hook", async (_, fake, expected) => {
    const lines = await examined(healthy, fake);
    const line = lines.find((each) => each.includes("hooks: "));
    expect(line).toContain(expected);
    expect(line).toMatch(/^PROBLEM .+\. Cure: ./);
  });

  it.each(REFUSALS.slice(0, -1))(
    "says in one line that %s answers instead of a relay",
    async (_, fake) => {
      const oneLine = /^http:\S+ answered \d{3} by .+\. Cure: .+$/;
      await expect(examined(fake, fake)).rejects.toThrow(oneLine);
      await expect(examined(fake, fake)).rejects.toThrow(NoRelay);
    },
  );
});

function anAnswer(json: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const at = Date.UTC(2026, 10, 22);
  const body = typeof json === "string" ? json : JSON.stringify(json);
  return { status: 200, headers: new Headers(headers), text: body, json, at };
}

const SETTINGS = {
  ALLOW_LOCAL_CALLBACKS: false,
  PAUSED: false,
  PUBLIC_URL: "https://relay.example.com",
  secrets: { RELAY_SECRET: 1, OPERATOR_KEYS: 2 },
};

function findings(url: string, settings: object, connections: object = {}): string {
  const answer = anAnswer({ configuration: { ...SETTINGS, ...settings }, connections });
  const health = healthOf(answer);
  if (health === null) throw new Error("expected settings");
  return configurationFindings(health, new URL(url), false).map(lineOf).join("\n");
}

describe("the doctor's view of the settings of a public relay", () => {
  it("has no problem with a domain of its own", () => {
    expect(findings("https://relay.example.com", {})).not.toContain("PROBLEM");
  });

  it.each([
    ["https://relay.example.com", { PUBLIC_URL: null }, "PUBLIC_URL is not set"],
    ["https://relay.example.com", { PUBLIC_URL: "https://b.example.com" }, "sent to PUBLIC_URL"],
    ["https://relay.me.workers.dev", { PUBLIC_URL: null }, "workers.dev cannot be reached"],
    ["https://relay.example.com", { ALLOW_LOCAL_CALLBACKS: true }, "ALLOW_LOCAL_CALLBACKS"],
    ["https://relay.example.com", { PAUSED: true }, "PAUSED stops all callbacks"],
    ["http://relay.example.com", { PUBLIC_URL: "http://relay.example.com" }, "unencrypted"],
  ])("at %s finds %j", (url, settings, expected) => {
    expect(findings(url, settings)).toMatch(new RegExp(`PROBLEM .*${expected}.*Cure: `));
  });

  it("finds a provider that refuses its key", () => {
    const connections = { ark: { key: "refused" }, fal: { key: "set" } };
    expect(findings("https://relay.example.com", {}, connections)).toContain(
      "PROBLEM      providers: ark refuses its API key. Cure: ",
    );
  });
});

describe("the doctor's clock", () => {
  const at = anAnswer({}).at;

  it.each([
    [60_000, "ok"],
    [-60_000, "ok"],
    [61_000, "61 s ahead of this machine. Cure: "],
    [-400_000, "400 s behind this machine. Cure: "],
  ])("compares a Date that is %i ms away", (ms, expected) => {
    const answer = anAnswer({}, { Date: new Date(at + ms).toUTCString() });
    expect(lineOf(clockFinding(answer, null))).toContain(expected);
  });

  it("takes the time of a callback where the answer has none", () => {
    const callback = { sentAtS: at / 1000 + 90, arrivedAt: at };
    expect(lineOf(clockFinding(anAnswer({}), callback))).toContain("90 s ahead of");
    expect(clockFinding(anAnswer({}), null).kind).toBe("unchecked");
  });
});

describe("the doctor's view of the index", () => {
  const overdue = { tasks: 0, oldest_age_ms: null };
  const stats = (index: object) => anAnswer({ index: { lag_ms: { p95: 900 }, overdue, ...index } });
  const lines = (index: object, metrics = "") =>
    indexFindings(stats(index), anAnswer(metrics)).map(lineOf).join("\n");

  it("has no problem with a fresh index", () => {
    expect(lines({}, "task_relay_index_bytes 4096\n")).not.toContain("PROBLEM");
  });

  it.each([
    [{ lag_ms: { p95: 61_000 } }, "", "index: 95 % of the rows arrive within 61 s. Cure: "],
    [
      { overdue: { tasks: 3, oldest_age_ms: 700_000 } },
      "",
      "3 tasks .*, the oldest by 12 min. Cure",
    ],
    [
      {},
      'task_relay_index_bytes{shard="0"} 5\ntask_relay_index_bytes{shard="1"} 8000000000',
      "8000 MB",
    ],
  ])("finds %j %j", (index, metrics, expected) => {
    expect(lines(index, metrics)).toMatch(new RegExp(`PROBLEM .*${expected}`));
  });

  it("finds a database that does not answer", () => {
    const answer = { ...anAnswer({ code: "unavailable" }), status: 503 };
    const [finding] = indexFindings(answer, answer);
    expect(finding && lineOf(finding)).toContain("PROBLEM      index: the relay answered 503");
  });
});
