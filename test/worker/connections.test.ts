import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { parseConfig } from "../../src/config/config.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { callWith, invalid, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { wake } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const MARK = "do-not-repeat-me";
const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};
const REQUIRED = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };

function configuredWith(vars: object) {
  return parseConfig({ ...REQUIRED, ...vars }, FLAGS);
}

/** The variable `CONNECTIONS` with these entries. */
function connections(entries: object): object {
  return { CONNECTIONS: JSON.stringify(entries) };
}

function connectionsOf(vars: object) {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error("the configuration was refused");
  return result.value.connections;
}

const KEY = { provider: "ark", key: MARK };
const OTHER = `https://${MARK}.example/api/v3`;

/** What is wrong, and the value of the variable. */
const FAULTS: readonly [string, object][] = [
  ["CONNECTIONS that is not JSON", { CONNECTIONS: `{"${MARK}` }],
  ["CONNECTIONS that is a list", { CONNECTIONS: `["${MARK}"]` }],
  ["CONNECTIONS that is text in JSON", { CONNECTIONS: `"${MARK}"` }],
  ["CONNECTIONS that is a number", { CONNECTIONS: 7 }],
  ["a connection that is text", connections({ a: MARK })],
  ["a connection without provider", connections({ a: { key: MARK } })],
  ["a connection of an unknown provider", connections({ a: { ...KEY, provider: MARK } })],
  ["a connection of the sandbox", connections({ a: { ...KEY, provider: "sandbox" } })],
  ["a connection with an unknown field", connections({ a: { ...KEY, url: MARK } })],
  ["a connection with an empty key", connections({ a: { ...KEY, key: "" } })],
  ["a connection named like another provider", connections({ kling: KEY })],
  ["a connection named like its own provider", connections({ ark: KEY })],
  ["a connection named like the sandbox", connections({ sandbox: KEY })],
  ["a connection with an empty name", connections({ "": KEY })],
  ["a connection name in upper case", connections({ Ark: KEY })],
  ["a connection name with a slash", connections({ "a/b": KEY })],
  ["a connection name of 33 characters", connections({ ["a".repeat(33)]: KEY })],
];

/** Base URLs to which no credential may be sent. */
const HOSTS: readonly [string, string][] = [
  ["another host", OTHER],
  ["a host with the same ending", `https://${MARK}ark.cn-beijing.volces.com`],
  ["a host with the same beginning", `https://ark.cn-beijing.volces.com.${MARK}.example`],
  ["the host of another provider", "https://api.replicate.com"],
  ["another port", "https://ark.cn-beijing.volces.com:8443/api/v3"],
  ["http", "http://ark.cn-beijing.volces.com/api/v3"],
  ["a user name", `https://${MARK}@ark.cn-beijing.volces.com/api/v3`],
  ["a password", `https://a:${MARK}@ark.cn-beijing.volces.com/api/v3`],
  ["a query", `https://ark.cn-beijing.volces.com/api/v3?${MARK}`],
  ["a loopback address", "http://127.0.0.1:9000"],
  ["localhost", "http://localhost:9000"],
  ["no URL", MARK],
];

it.each([
  ...FAULTS,
  ...HOSTS.map(([what, base_url]): [string, object] => [
    `a base_url with ${what}`,
    connections({ a: { ...KEY, base_url } }),
  ]),
  ["a jwks_url on another host", connections({ a: { provider: "fal", jwks_url: OTHER } })],
  ["an ARK_BASE_URL on another host", { ARK_BASE_URL: OTHER }],
])("the configuration rejects %s without repeating the value", (_, vars) => {
  const result = configuredWith(vars);
  expect(result).toMatchObject({ ok: false, error: [{ path: Object.keys(vars)[0] }] });
  expect(JSON.stringify(result)).not.toContain(MARK);
});

it.each([
  ["http://127.0.0.1:9000", true],
  ["http://localhost:9000/a/b", true],
  ["http://[::1]:9000", true],
  ["http://10.0.0.1", false],
  ["http://192.168.1.1", false],
  ["https://nas.local", false],
])("the base URL %s is accepted with ALLOW_LOCAL_CALLBACKS: %s", (base_url, isAccepted) => {
  for (const vars of [{ ARK_BASE_URL: base_url }, connections({ a: { ...KEY, base_url } })]) {
    expect(configuredWith(vars).ok).toBe(false);
    expect(configuredWith({ ...vars, ALLOW_LOCAL_CALLBACKS: "true" }).ok).toBe(isAccepted);
  }
});

it("a connection accepts every base URL of its provider and defaults to the first", () => {
  const [first, second] = PROVIDERS.get("ark")?.baseUrls ?? [];
  const entries = {
    a: KEY,
    b: { ...KEY, base_url: second },
    c: { ...KEY, base_url: `${first}/` },
  };
  const known = connectionsOf(connections(entries));
  const baseUrls = ["a", "b", "c"].map((name) => known.get(name)?.baseUrl);
  expect(baseUrls).toEqual([first, second, first]);
});

it("CONNECTIONS defaults to one connection per provider, named after it and without a key", () => {
  const known = connectionsOf({ CONNECTIONS: "" });
  expect(Array.from(known, ([name, { key }]) => [name, key])).toEqual(
    Array.from(PROVIDERS.keys(), (name) => [name, null]),
  );
  expect(configuredWith({})).toMatchObject({ value: { polls: new Map() } });
});

it("a connection appears at /healthz with names and whether a key is set, without any value", async () => {
  const secret = { provider: "ark", key: MARK, webhook_secret: `${MARK}-2` };
  const bindings = { ...env, ...connections({ "ark-2": secret }), FAL_KEY: MARK };
  const text = await (await callWith(bindings, "/healthz")).text();
  expect(JSON.parse(text)).toMatchObject({
    connections: {
      fal: { provider: "fal", key: "set" },
      "ark-2": { provider: "ark", key: "set" },
    },
  });
  expect(text).not.toContain(MARK);
});

const [HERE, THERE] = PROVIDERS.get("ark")?.baseUrls ?? [];
const TWO = {
  ...env,
  ARK_API_KEY: "key-of-ark",
  ...connections({
    "ark-2": { provider: "ark", key: "key-of-ark-2", base_url: THERE },
    "ark-3": { provider: "ark" },
  }),
};

it("connections are each polled at their own host with their own key, and not without one", async () => {
  const outside = anOutside();
  for (const host of [HERE, THERE]) {
    if (host !== undefined) outside.on(host, answering({ id: "cgt-1", status: "running" }));
  }
  for (const provider of ["ark", "ark-2", "ark-3"]) {
    const task = await hooked({ provider, bindings: TWO });
    await attach(task, "cgt-1");
    await wake(task.id, 18_000);
    const polled = provider !== "ark-3";
    expect(await readHooked(task)).toMatchObject({ status: polled ? "processing" : "pending" });
  }
  expect(outside.sentTo("")).toMatchObject([
    {
      url: expect.stringContaining(`${HERE}`),
      headers: { authorization: "Bearer key-of-ark" },
      redirect: "manual",
    },
    {
      url: expect.stringContaining(`${THERE}`),
      headers: { authorization: "Bearer key-of-ark-2" },
      redirect: "manual",
    },
  ]);
});

it("a removed connection rejects new tasks with 400 and hooks with 404", async () => {
  const bindings = { ...env, ...connections({ "ark-2": { provider: "ark", key: "key" } }) };
  const task = await hooked({ provider: "ark-2", bindings });
  const body = { model: "m", provider: "ark-2", callback_url: CALLBACK_URL };
  const response = await callWith(env, "/v1/tasks", { body });
  expect(await refusal(response)).toEqual(invalid("/provider"));
  expect((await sendHook({ ...task, bindings: env }, "{}")).status).toBe(404);
});

const Health = z.looseObject({ connections: z.looseObject({}) });

it.each([401, 403])(
  "a provider key shows as refused at /healthz for 15 min after the provider answered %i",
  async (status) => {
    anOutside().on("https://ark.", answering({ error: "no" }, status));
    // The relay remembers a refused key by the name of the connection, also for other tests.
    const name = `ark-${status}`;
    const entry = { provider: "ark", key: "key" };
    const bindings = { ...env, ...connections({ [name]: entry }) };
    const health = async () =>
      Health.parse(await (await callWith(bindings, "/healthz")).json()).connections[name];
    expect(await health()).toEqual({ provider: "ark", key: "set" });
    const task = await hooked({ provider: name, bindings });
    await attach(task, "cgt-1");
    await wake(task.id, 18_000);
    const refused = { provider: "ark", key: "refused", refused_at: Math.floor(Date.now() / 1000) };
    await until(async () => Reflect.get(Object(await health()), "key") === "refused");
    expect(await health()).toEqual(refused);
    expect(await readHooked(task)).toMatchObject({ status: "pending" });
    pass(899_000);
    expect(await health()).toEqual(refused);
    pass(1_000);
    expect(await health()).toEqual({ provider: "ark", key: "set" });
  },
);

it("the bindings of these tests set no provider variable, whatever .dev.vars contains", () => {
  const names = [...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables));
  expect(names.filter((name) => Boolean(Reflect.get(env, name)))).toEqual([]);
});
