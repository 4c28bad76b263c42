import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { parseConfig } from "../../src/config/config.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { aRequest, CALLBACK_URL, pass, refusal, stubOf, until, useClock } from "./support.ts";

useClock();

const MARK = "do-not-repeat-me";
const FLAGS = { global_fetch_strictly_public: true };
const REQUIRED = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };

function configuredWith(vars: object) {
  return parseConfig({ ...REQUIRED, ...vars }, FLAGS);
}

/** As `CONNECTIONS`; an entry is a connection's fields. */
function connections(entries: object): object {
  return { CONNECTIONS: JSON.stringify(entries) };
}

describe("CONNECTIONS", () => {
  const KEY = { provider: "ark", key: MARK };

  /** What is wrong, the variables, and the name at fault. */
  const FAULTS: readonly [string, object, string][] = [
    ["is not JSON", { CONNECTIONS: `{"${MARK}` }, "CONNECTIONS"],
    ["is a list", { CONNECTIONS: `["${MARK}"]` }, "CONNECTIONS"],
    ["is a text in JSON", { CONNECTIONS: `"${MARK}"` }, "CONNECTIONS"],
    ["is a number", { CONNECTIONS: 7 }, "CONNECTIONS"],
    ["holds a text", connections({ a: MARK }), "CONNECTIONS"],
    ["holds no provider", connections({ a: { key: MARK } }), "CONNECTIONS"],
    ["holds an unknown provider", connections({ a: { ...KEY, provider: MARK } }), "CONNECTIONS"],
    ["holds the sandbox", connections({ a: { ...KEY, provider: "sandbox" } }), "CONNECTIONS"],
    ["has an unknown field", connections({ a: { ...KEY, url: MARK } }), "CONNECTIONS"],
    ["has an empty key", connections({ a: { ...KEY, key: "" } }), "CONNECTIONS"],
    ["uses the name of a provider", connections({ kling: KEY }), "CONNECTIONS"],
    ["uses the name of its own provider", connections({ ark: KEY }), "CONNECTIONS"],
    ["uses the name of the sandbox", connections({ sandbox: KEY }), "CONNECTIONS"],
    ["has an empty name", connections({ "": KEY }), "CONNECTIONS"],
    ["has a name in upper case", connections({ Ark: KEY }), "CONNECTIONS"],
    ["has a name with a slash", connections({ "a/b": KEY }), "CONNECTIONS"],
    ["has a name of 33 characters", connections({ ["a".repeat(33)]: KEY }), "CONNECTIONS"],
  ];

  /** Base URLs to which no credential may go. */
  const HOSTS: readonly [string, string][] = [
    ["another host", `https://${MARK}.example/api/v3`],
    ["a host that only ends alike", `https://${MARK}ark.cn-beijing.volces.com`],
    ["a host that only begins alike", `https://ark.cn-beijing.volces.com.${MARK}.example`],
    ["the host of another provider", "https://api.replicate.com"],
    ["another port", "https://ark.cn-beijing.volces.com:8443/api/v3"],
    ["http", "http://ark.cn-beijing.volces.com/api/v3"],
    ["a user name", `https://${MARK}@ark.cn-beijing.volces.com/api/v3`],
    ["a password", `https://a:${MARK}@ark.cn-beijing.volces.com/api/v3`],
    ["a query", `https://ark.cn-beijing.volces.com/api/v3?${MARK}`],
    ["this machine", "http://127.0.0.1:9000"],
    ["this machine by name", "http://localhost:9000"],
    ["no URL", MARK],
  ];

  const ALL = [
    ...FAULTS,
    ...HOSTS.flatMap(([what, base_url]): [string, object, string][] => [
      [`has ${what} as base_url`, connections({ a: { ...KEY, base_url } }), "CONNECTIONS"],
      [`leaves ${what} to ARK_BASE_URL`, { ARK_BASE_URL: base_url }, "ARK_BASE_URL"],
    ]),
    ...HOSTS.map(([what, jwks_url]): [string, object, string] => {
      const entry = { provider: "fal", key: MARK, jwks_url };
      return [`has ${what} as jwks_url`, connections({ a: entry }), "CONNECTIONS"];
    }),
  ];

  it.each(ALL)("is refused when it %s, and no value is repeated", (_, vars, name) => {
    const result = configuredWith(vars);
    expect(result).toMatchObject({ ok: false, error: [{ path: name }] });
    expect(JSON.stringify(result)).not.toContain(MARK);
  });

  it.each(["http://127.0.0.1:9000", "http://localhost:9000/a/b", "http://[::1]:9000"])(
    "may lead to %s only with ALLOW_LOCAL_CALLBACKS",
    (base_url) => {
      for (const vars of [{ ARK_BASE_URL: base_url }, connections({ a: { ...KEY, base_url } })]) {
        expect(configuredWith(vars)).toMatchObject({ ok: false });
        expect(configuredWith({ ...vars, ALLOW_LOCAL_CALLBACKS: "true" })).toMatchObject({
          ok: true,
        });
      }
    },
  );

  it("may not lead to a private network, not even with ALLOW_LOCAL_CALLBACKS", () => {
    for (const base_url of ["http://10.0.0.1", "http://192.168.1.1", "https://nas.local"]) {
      const vars = { ...connections({ a: { ...KEY, base_url } }), ALLOW_LOCAL_CALLBACKS: "true" };
      expect(configuredWith(vars)).toMatchObject({ ok: false });
    }
  });

  it("takes every host of a provider, and the first one by default", () => {
    const [first, second] = PROVIDERS.get("ark")?.baseUrls ?? [];
    const result = configuredWith(
      connections({
        a: KEY,
        b: { ...KEY, base_url: second },
        c: { ...KEY, base_url: `${first}/` },
      }),
    );
    if (!result.ok) throw new Error("it was refused");
    const baseUrls = ["a", "b", "c"].map((name) => result.value.connections.get(name)?.baseUrl);
    expect(baseUrls).toEqual([first, second, first]);
  });

  it("is none by default: every provider has a connection of its own name, without a key", () => {
    const result = configuredWith({ CONNECTIONS: "" });
    if (!result.ok) throw new Error("it was refused");
    expect([...result.value.connections.keys()]).toEqual([...PROVIDERS.keys()]);
    expect([...result.value.connections.values()].map(({ key }) => key)).toEqual(
      [...PROVIDERS].map(() => null),
    );
    expect([...result.value.polls]).toEqual([]);
  });

  it("is told by name at /healthz, which shows the keys that are set but not their values", async () => {
    const secret = { provider: "ark", key: MARK, webhook_secret: `${MARK}-2` };
    const bindings = { ...env, ...connections({ "ark-2": secret }), FAL_KEY: MARK };
    const text = await (await app.fetch(aRequest("/healthz"), bindings)).text();
    expect(JSON.parse(text)).toMatchObject({
      connections: {
        fal: { provider: "fal", key: "set" },
        "ark-2": { provider: "ark", key: "set" },
      },
    });
    expect(text).not.toContain(MARK);
  });
});

describe("several connections of one provider", () => {
  const [HERE, THERE] = PROVIDERS.get("ark")?.baseUrls ?? [];
  const TWO = {
    ...env,
    ARK_API_KEY: "key-of-ark",
    ...connections({
      "ark-2": { provider: "ark", key: "key-of-ark-2", base_url: THERE },
      "ark-3": { provider: "ark" },
    }),
  };

  it("have hook URLs of their own, and none accepts another's", async () => {
    const tasks = await Promise.all(
      ["ark", "ark-2"].map((provider) => hooked({ provider, bindings: TWO })),
    );
    const tokens = new Set(tasks.map(({ hookUrl }) => hookUrl.split("/").at(-1)));
    expect(tokens.size).toBe(2);
    for (const { hookUrl } of tasks) {
      const swapped = hookUrl.includes("/ark-2/")
        ? hookUrl.replace("/ark-2/", "/ark/")
        : hookUrl.replace("/ark/", "/ark-2/");
      expect((await sendHook({ hookUrl: swapped, bindings: TWO }, "{}")).status).toBe(404);
    }
  });

  it("are asked each at its own host with its own key, and without a key not at all", async () => {
    const outside = anOutside();
    for (const host of [HERE, THERE]) {
      if (host !== undefined) outside.on(host, answering({ id: "cgt-1", status: "running" }));
    }
    for (const provider of ["ark", "ark-2", "ark-3"]) {
      const task = await hooked({ provider, bindings: TWO });
      await attach(task, "cgt-1");
      pass(18_000);
      await runDurableObjectAlarm(stubOf(task.id));
      const polled = provider !== "ark-3";
      expect(await readHooked(task)).toMatchObject({ status: polled ? "processing" : "pending" });
    }
    const asked = (host = "") =>
      outside.sentTo(host).map(({ headers }) => headers["authorization"]);
    expect(asked(HERE)).toEqual(["Bearer key-of-ark"]);
    expect(asked(THERE)).toEqual(["Bearer key-of-ark-2"]);
    expect(outside.sentTo("").map(({ redirect }) => redirect)).toEqual(["manual", "manual"]);
  });
});

describe("a connection that was taken out of the configuration", () => {
  const WITH = { ...env, ...connections({ "ark-2": { provider: "ark", key: "key-of-ark-2" } }) };

  it("refuses new tasks with 400, and its hooks with 404", async () => {
    const task = await hooked({ provider: "ark-2", bindings: WITH });
    const body = { model: "m", provider: "ark-2", callback_url: CALLBACK_URL };
    expect(await refusal(await app.fetch(aRequest("/v1/tasks", { body }), env))).toEqual({
      status: 400,
      code: "invalid_request",
      paths: ["/provider"],
    });
    expect((await sendHook({ ...task, bindings: env }, "{}")).status).toBe(404);
  });
});

describe("a key that the provider refuses", () => {
  const KEYED = { ...env, ARK_API_KEY: "key-of-ark" };
  const Health = z.looseObject({ connections: z.looseObject({ ark: z.looseObject({}) }) });
  const health = async () =>
    Health.parse(await (await app.fetch(aRequest("/healthz"), KEYED)).json()).connections.ark;

  it.each([401, 403])("shows at /healthz for a quarter of an hour: %i", async (status) => {
    anOutside().on("https://ark.", answering({ error: "no" }, status));
    // Past what the other case has left: all tasks of a connection share what is known of its key.
    pass(3_600_000 * status);
    expect(await health()).toEqual({ provider: "ark", key: "set" });
    const task = await hooked({ provider: "ark", bindings: KEYED });
    await attach(task, "cgt-1");
    pass(18_000);
    const refusedAt = Math.floor(Date.now() / 1000);
    await runDurableObjectAlarm(stubOf(task.id));
    const refused = { provider: "ark", key: "refused", refused_at: refusedAt };
    await until(async () => (await health())["key"] === "refused");
    expect(await health()).toEqual(refused);
    expect(await readHooked(task)).toMatchObject({ status: "pending" });
    pass(899_000);
    expect(await health()).toEqual(refused);
    pass(1_000);
    expect(await health()).toEqual({ provider: "ark", key: "set" });
  });
});

describe("the variables of the tests", () => {
  it("are blank for every provider, whatever .dev.vars says", () => {
    const names = [...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables));
    expect(names.map((name) => [name, Reflect.get(env, name)])).toEqual(
      names.map((name) => [name, ""]),
    );
  });
});
