import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { connections, MARK } from "../core/configuration.ts";
import { logIn, visit } from "./browser.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { callWith, invalid, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { stored, wake } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const Names = z.record(z.string(), z.unknown());

it("GET /healthz shows the name and the provider of each configured connection and whether it has a key, but not the key itself", async () => {
  const secret = { provider: "ark", key: MARK, webhook_secret: `${MARK}-2` };
  // Other tests may have made the relay remember a refused key of the connection `fal`.
  const named = connections({
    "ark-healthz": secret,
    "fal-healthz": { provider: "fal", key: MARK },
  });
  const bindings = { ...env, ...named, FAL_KEY: MARK };
  const text = await (await callWith(bindings, "/healthz")).text();
  expect(JSON.parse(text)).toMatchObject({
    connections: {
      fal: { provider: "fal" },
      "fal-healthz": { provider: "fal", key: "set" },
      "ark-healthz": { provider: "ark", key: "set" },
    },
  });
  expect(text).not.toContain(MARK);
});

it("GET /healthz lists connections that have an API key and, separately, connections and providers that lack one, with the variables they need", async () => {
  const bindings = {
    ...env,
    FAL_KEY: "key",
    ...connections({ "ark-2": { provider: "ark" }, "fal-2": { provider: "fal", key: "key" } }),
  };
  const Lists = z.object({ connections: Names, without_key: Names });
  const listed = async (more: object) =>
    Lists.parse(await (await callWith({ ...bindings, ...more }, "/healthz")).json());
  const { connections: keyed, without_key: others } = await listed({});
  expect(Object.keys(keyed)).toEqual(["fal", "fal-2"]);
  expect(Object.keys({ ...keyed, ...others }).toSorted()).toEqual(
    [...PROVIDERS.keys(), "ark-2", "fal-2", "sandbox"].toSorted(),
  );
  expect(others).toMatchObject({
    ark: { provider: "ark", needs: ["ARK_API_KEY"], accepts_tasks: true },
    "ark-2": { provider: "ark", needs: ["CONNECTIONS, ark-2.key"], accepts_tasks: true },
    dashscope: { provider: "dashscope", needs: ["DASHSCOPE_API_KEY"], accepts_tasks: false },
    newapi: {
      provider: "newapi",
      needs: ["NEWAPI_API_KEY", "NEWAPI_BASE_URL"],
      accepts_tasks: false,
    },
    sandbox: { provider: "sandbox", needs: ["SANDBOX=true"], accepts_tasks: false },
  });
  const { without_key: withSandbox } = await listed({ SANDBOX: "true" });
  expect(withSandbox).toMatchObject({ sandbox: { needs: [], accepts_tasks: true } });
});

it.each([
  [{ provider: "vidu", key: "key" }, "signed requests"],
  [{ provider: "vidu", webhook_secret: "secret" }, "signature not checked, by their URL"],
  [{ provider: "kie", key: "key" }, "signature not checked, by their URL; a poll decides"],
  [{ provider: "kie", key: "key", webhook_secret: "secret" }, "signed requests"],
  [{ provider: "atlascloud", key: "key" }, "signed requests"],
  [{ provider: "ark", key: "key", webhook_secret: "secret" }, "by their URL; a poll decides"],
])(
  "the console's page of providers says how the hooks of a connection are authenticated: for the connection %j it says '%s'",
  async (connection, words) => {
    const bindings = { ...env, ...connections({ own: connection }) };
    const page = await visit("/providers", await logIn(undefined, bindings), {}, bindings);
    const [, cell] =
      /id="connection-own"[^]*?<td data-label="Hooks"[^>]*>([^]*?)<\/td>/.exec(await page.text()) ??
      [];
    expect(cell?.replaceAll(/<[^>]+>/g, "")).toBe(words);
  },
);

it.each([
  ["newapi", "is not configured: it needs NEWAPI_API_KEY and NEWAPI_BASE_URL"],
  ["sandbox", "is not configured: it needs SANDBOX=true"],
  ["nobody", "must be one of ark, replicate"],
])(
  "a registration with the provider %s, for which no connection is configured, gets 400 with the words: %s",
  async (provider, reason) => {
    const response = await callWith(env, "/v1/tasks", { body: { model: "m", provider } });
    expect(await response.json()).toMatchObject({
      status: 400,
      issues: [{ path: "/provider", message: expect.stringContaining(reason) }],
    });
  },
);

const [HERE, THERE] = PROVIDERS.get("ark")?.baseUrls ?? [];
const TWO = {
  ...env,
  ARK_API_KEY: "key-of-ark",
  ...connections({
    "ark-2": { provider: "ark", key: "key-of-ark-2", base_url: THERE },
    "ark-3": { provider: "ark" },
  }),
};

it("the relay polls a job at the base URL and with the API key of the task's connection, and does not poll when this connection has no key", async () => {
  const outside = anOutside();
  for (const host of [HERE, THERE]) {
    if (host !== undefined) outside.on(host, answering({ id: "cgt-1", status: "running" }));
  }
  for (const provider of ["ark", "ark-2", "ark-3"]) {
    const task = await hooked({ provider, bindings: TWO });
    await attach(task, "cgt-1");
    await wake(task.id, 130_000);
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

it.each([
  ["bfl, whose result links live for 10 min,", "4 s, without waiting for its hook", "bfl", 4],
  ["ark, whose result links live for 24 h,", "1 min, if its hook has not come by then", "ark", 60],
])("a job of %s is first polled after about %s", async (_, _age, provider, ageS) => {
  const bindings = { ...env, ARK_API_KEY: "test-only-ark-key", BFL_API_KEY: "test-only-bfl-key" };
  const task = await hooked({ provider, bindings });
  await attach(task, "job-1");
  const ageMs = ((await stored(task.id)).alarm ?? NaN) - Date.now();
  expect(Math.abs(ageMs / (ageS * 1_000) - 1)).toBeLessThan(0.06);
});

it("a registration for Luma Agents or a new-api gateway gets 400 when the relay has no key for it, and otherwise returns a hook URL only for the gateway", async () => {
  const entry = { provider: "luma", base_url: "https://agents.lumalabs.ai/v1" };
  const gateway = { provider: "newapi", base_url: "https://gateway.example.com" };
  const bindings = {
    ...env,
    ...connections({
      "luma-2": { ...entry, key: MARK },
      "luma-3": entry,
      "gateway-2": { ...gateway, key: MARK },
      "gateway-3": gateway,
    }),
  };
  const register = (provider: string) =>
    callWith(bindings, "/v1/tasks", { body: { model: "m", callback_url: CALLBACK_URL, provider } });
  const hookFields = async (provider: string) => {
    const task = z.looseObject({}).parse(await (await register(provider)).json());
    return Object.keys(task).filter((name) => name.startsWith("hook_"));
  };
  expect(await hookFields("luma")).toEqual(["hook_url", "hook_parameter"]);
  expect(await hookFields("luma-2")).toEqual([]);
  expect(await hookFields("gateway-2")).toEqual(["hook_url", "hook_parameter"]);
  for (const name of ["luma-3", "gateway-3"]) {
    expect(await refusal(await register(name))).toEqual(invalid("/provider"));
  }
});

it("after a connection was removed from CONNECTIONS, registrations that name it get 400 and its hooks get 404", async () => {
  const bindings = { ...env, ...connections({ "ark-2": { provider: "ark", key: "key" } }) };
  const task = await hooked({ provider: "ark-2", bindings });
  const body = { model: "m", provider: "ark-2", callback_url: CALLBACK_URL };
  const response = await callWith(env, "/v1/tasks", { body });
  expect(await refusal(response)).toEqual(invalid("/provider"));
  expect((await sendHook({ ...task, bindings: env }, "{}")).status).toBe(404);
});

const Health = z.looseObject({ connections: z.looseObject({}) });

it.each([401, 403])(
  "after a provider has answered a poll with %i, /healthz shows the connection's key as refused for 35 min",
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
    await wake(task.id, 130_000);
    const refused = { provider: "ark", key: "refused", refused_at: Math.floor(Date.now() / 1000) };
    await until(async () => Reflect.get(Object(await health()), "key") === "refused");
    expect(await health()).toEqual(refused);
    expect(await readHooked(task)).toMatchObject({ status: "pending" });
    pass(2_099_000);
    expect(await health()).toEqual(refused);
    pass(1_000);
    expect(await health()).toEqual({ provider: "ark", key: "set" });
  },
);

it("a provider's response that was not understood is shown at /healthz for two hours, and is replaced by a later one at most once an hour", async () => {
  const outside = anOutside();
  const name = "ark-unclear";
  const bindings = { ...env, ...connections({ [name]: { provider: "ark", key: "key" } }) };
  const unclear = async () => {
    const { connections: all } = Health.parse(await (await callWith(bindings, "/healthz")).json());
    return Reflect.get(Object(all[name]), "unclear");
  };
  const task = await hooked({ provider: name, bindings });
  await attach(task, "cgt-1");
  const answered = async (status: string, waitMs: number) => {
    outside.on("https://ark.", answering({ id: "cgt-1", status }));
    await wake(task.id, waitMs);
  };
  await answered("dreamt", 130_000);
  const dreamt = { at: Math.floor(Date.now() / 1000), status_code: 200, word: "dreamt" };
  await until(async () => (await unclear()) !== undefined);
  expect(await unclear()).toEqual(dreamt);
  await answered("slept", 3_000_000);
  expect(await unclear()).toEqual(dreamt);
  await answered("slept", 600_000);
  await until(async () => (await unclear()).word === "slept");
  pass(7_200_000);
  expect(await unclear()).toBeUndefined();
});

it("the tests see no variables of providers, such as ARK_API_KEY, even if the developer's .dev.vars file sets them", () => {
  const names = [...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables));
  expect(names.filter((name) => Boolean(Reflect.get(env, name)))).toEqual([]);
});
