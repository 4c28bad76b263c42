import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { toBase64Url } from "../../src/security/encoding.ts";
import { HTML, logIn, outcome, visit } from "./browser.ts";
import { call, callWith, OPERATOR_KEY, OPERATOR_NAME } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { answering, anOutside, type Outside } from "./outside.ts";

useClock();

const AUDIENCE = "a".repeat(64);
const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const KEY_TYPE = { ...RS256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
const TO_LOGIN = [303, "/login"];
const MINUTE_MS = 60_000;

type Claims = Readonly<Record<string, unknown>>;

/**
 * Creates a team of Cloudflare Access with one key. Each test has a team of its own, because isolates cache
 * the keys of a team.
 */
async function aTeam(kid = "key-1") {
  const name = `team-${crypto.randomUUID().slice(0, 8)}`;
  const origin = `https://${name}.cloudflareaccess.com`;
  const pair = await crypto.subtle.generateKey(KEY_TYPE, true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("not a key pair");
  const jwk = { ...Object(await crypto.subtle.exportKey("jwk", pair.publicKey)), kid };
  const claims = { aud: [AUDIENCE], iss: origin, iat: START_S, exp: START_S + 3600 };
  const tokenOf = async (other: Claims = {}, header: Claims = {}) => {
    const parts = [
      { alg: "RS256", typ: "JWT", kid, ...header },
      { ...claims, email: "ann@example.com", ...other },
    ].map((part) => toBase64Url(new TextEncoder().encode(JSON.stringify(part))));
    const signed = new TextEncoder().encode(parts.join("."));
    const signature = await crypto.subtle.sign(RS256, pair.privateKey, signed);
    return [...parts, toBase64Url(new Uint8Array(signature))].join(".");
  };
  const bindings = { ...env, ACCESS_TEAM: name, ACCESS_AUD: AUDIENCE };
  return { certs: `${origin}/cdn-cgi/access/certs`, jwk, tokenOf, bindings };
}

type Team = Awaited<ReturnType<typeof aTeam>>;

const publish = (outside: Outside, { certs, jwk }: Team) =>
  outside.on(certs, answering({ keys: [{ kty: "EC", kid: "other" }, jwk] }));

const visitWith = (token: string, bindings: object) =>
  visit("/", null, { "Cf-Access-Jwt-Assertion": token }, bindings);

it("a user of Cloudflare Access is an operator with the role read, named by the user's email address", async () => {
  const team = await aTeam();
  publish(anOutside(), team);
  const page = await visitWith(await team.tokenOf(), team.bindings);
  expect([page.status, page.headers.has("Set-Cookie")]).toEqual([200, false]);
  expect(await page.text()).toContain("operator ann@example.com");
  const service = await team.tokenOf({ email: undefined, common_name: "robot" });
  expect(await (await visitWith(service, team.bindings)).text()).toContain("operator robot");
});

it("a user of Cloudflare Access can log in to the console with an operator key instead; the login page links to the logout of Access", async () => {
  const team = await aTeam();
  publish(anOutside(), team);
  const { bindings } = team;
  const headers = { "Cf-Access-Jwt-Assertion": await team.tokenOf() };
  const login = await (await visit("/login", null, headers, bindings)).text();
  expect(login).toContain("Continue as ann@example.com");
  expect(login).toContain('href="/cdn-cgi/access/logout"');
  const cookie = await logIn(OPERATOR_KEY, bindings);
  expect(await (await visit("/", cookie, headers, bindings)).text()).toContain(OPERATOR_NAME);
  expect(outcome(await visit("/login", cookie, headers, bindings))).toEqual([303, "/"]);
});

it("ACCESS_ROLE sets the role that users of Cloudflare Access have in the console", async () => {
  const team = await aTeam();
  publish(anOutside(), team);
  const bindings = { ...team.bindings, ACCESS_ROLE: "metrics" };
  expect((await visitWith(await team.tokenOf(), bindings)).status).toBe(403);
});

it.each<readonly [string, Claims, Claims]>([
  ["for another application", { aud: ["b".repeat(64)] }, {}],
  ["without an audience (aud)", { aud: undefined }, {}],
  ["that has expired", { exp: START_S }, {}],
  ["that never expires", { exp: undefined }, {}],
  ["that is not valid yet", { nbf: START_S + 60 }, {}],
  ["of another team", { iss: "https://other.cloudflareaccess.com" }, {}],
  ["that names an unknown signing key", {}, { kid: "key-2" }],
  ["that names no signing key", {}, { kid: undefined }],
  ["whose header says that it is unsigned (alg: none)", {}, { alg: "none" }],
  ["whose header says that it is signed with a shared secret (alg: HS256)", {}, { alg: "HS256" }],
])("a token of Cloudflare Access %s logs nobody in", async (_, claims, header) => {
  const team = await aTeam();
  publish(anOutside(), team);
  const token = await team.tokenOf(claims, header);
  expect(outcome(await visitWith(token, team.bindings))).toEqual(TO_LOGIN);
});

it("a token of Cloudflare Access that is malformed, or signed by a wrong key under a known key's id, logs nobody in", async () => {
  const [team, other] = [await aTeam(), await aTeam()];
  publish(anOutside(), team);
  const token = await other.tokenOf({ iss: new URL(team.certs).origin });
  for (const each of [token, "a.b.c", "", `${await team.tokenOf()}x`]) {
    expect(outcome(await visitWith(each, team.bindings))).toEqual(TO_LOGIN);
  }
});

it("a valid token of Cloudflare Access logs nobody in to the console where Access is not configured, and never replaces a key of the API", async () => {
  const team = await aTeam();
  publish(anOutside(), team);
  const headers = { ...HTML, "Cf-Access-Jwt-Assertion": await team.tokenOf() };
  expect(outcome(await visit("/", null, headers))).toEqual(TO_LOGIN);
  const message = { key: null, headers };
  expect((await callWith(team.bindings, "/v1/accounts", message)).status).toBe(401);
  expect((await call("/v1/accounts", message)).status).toBe(401);
});

it("while the signing keys of Cloudflare Access cannot be fetched, a token logs its user in only when its signing key was fetched before", async () => {
  const team = await aTeam();
  const outside = anOutside();
  const token = await team.tokenOf();
  expect(outcome(await visitWith(token, team.bindings))).toEqual(TO_LOGIN);
  publish(outside, team);
  expect((await visitWith(token, team.bindings)).status).toBe(200);
  outside.on(team.certs, answering({}, 503));
  expect((await visitWith(token, team.bindings)).status).toBe(200);
});

it("when a token of Cloudflare Access names an unknown signing key, the team's keys are fetched again, at most every 30 s", async () => {
  const [old, fresh] = [await aTeam("key-1"), await aTeam("key-2")];
  const outside = anOutside();
  publish(outside, old);
  expect((await visitWith(await old.tokenOf(), old.bindings)).status).toBe(200);
  outside.on(old.certs, answering({ keys: [fresh.jwk] }));
  const token = await fresh.tokenOf({ iss: new URL(old.certs).origin });
  for (let tries = 0; tries < 3; tries++) {
    expect(outcome(await visitWith(token, old.bindings))).toEqual(TO_LOGIN);
  }
  expect(outside.sentTo(old.certs)).toHaveLength(1);
  pass(MINUTE_MS);
  expect((await visitWith(token, old.bindings)).status).toBe(200);
});

it.each([
  [{ ACCESS_TEAM: "acme" }, "ACCESS_AUD"],
  [{ ACCESS_AUD: AUDIENCE }, "ACCESS_TEAM"],
  [{ ACCESS_TEAM: "https://evil.example/", ACCESS_AUD: AUDIENCE }, "ACCESS_TEAM"],
  [{ ACCESS_TEAM: "acme", ACCESS_AUD: AUDIENCE, ACCESS_ROLE: "admin" }, "ACCESS_ROLE"],
])(
  "with the variables %j the relay answers 503 not_configured and names the variable %s",
  async (vars, name) => {
    const response = await callWith({ ...env, ...vars }, "/v1/tasks");
    expect(response.status).toBe(503);
    expect(await response.text()).toContain(name);
  },
);
