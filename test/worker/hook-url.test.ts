import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { ADAPTERS } from "../providers/adapters.ts";
import { anAccount, balanceOf } from "./accounts.ts";
import {
  call,
  callWith,
  type Message,
  ORIGIN,
  ProblemBody,
  refusal,
  UNKNOWN_TASK,
} from "./client.ts";
import { until, useClock } from "./clock.ts";
import { answerOf, attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { expectUnchanged, NOTHING, restart, stored } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { aReceiver } from "./receiver.ts";
import { SENDERS } from "./senders.ts";
import { anArk, ARK_PATH, BINDINGS, BODY, sentToArk } from "./submitted.ts";
import { CALLBACK_URL, register } from "./tasks.ts";

useClock();

const OTHER_SECRET = "another-relay-secret-0123456789abcdef";
const RUNNING = JSON.stringify({ id: "cgt-1", status: "running" });
const TWO_ARKS = { ...env, CONNECTIONS: JSON.stringify({ "ark-2": { provider: "ark" } }) };

async function registration(fields: object, bindings: object = env) {
  const body = { id: crypto.randomUUID(), model: "m", ...fields };
  const response = await callWith(bindings, "/v1/tasks", { body });
  return z.looseObject({ id: z.string() }).parse(await response.json());
}

/** Splits a hook URL into its parts. */
function partsOf(hookUrl: string) {
  const [, , provider = "", id = "", token = ""] = new URL(hookUrl).pathname.split("/");
  return { provider, id, token };
}

/** Builds the path of a hook URL in which some parts are replaced. */
function pathWith(hookUrl: string, changes: Partial<ReturnType<typeof partsOf>>): string {
  const { provider, id, token } = { ...partsOf(hookUrl), ...changes };
  return `/hooks/${provider}/${id}/${token}`;
}

/** Builds the path of a hook URL with another first character of its token. */
function altered(hookUrl: string): string {
  const { token } = partsOf(hookUrl);
  return pathWith(hookUrl, { token: (token.startsWith("A") ? "B" : "A") + token.slice(1) });
}

it.each(SENDERS)(
  "registering a task with the provider $provider returns the hook URL, and the provider's parameters for the hook URL and for the task id",
  async ({ provider: name, keyVars }) => {
    const hooks = ADAPTERS.get(name)?.hooks;
    const answer = await registration({ provider: name }, { ...env, ...keyVars });
    const token = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/);
    expect(partsOf(String(answer["hook_url"]))).toEqual({ provider: name, id: answer.id, token });
    expect(answer).toMatchObject({ hook_parameter: hooks?.parameter, provider: name });
    expect(answer["id_parameter"]).toBe(hooks?.idParameter ?? undefined);
    expect(new URL(String(answer["hook_url"])).search).toBe("");
  },
);

it("when the registration of a task that names a provider is repeated, it returns the same hook URL as the first time", async () => {
  const body = { id: crypto.randomUUID(), model: "m", provider: "ark" };
  expect(await registration(body)).toEqual(await registration(body));
});

it("registering a task without a provider, or with a provider that sends no hooks, returns no hook URL", async () => {
  const bindings = { ...env, RUNWAY_API_KEY: "test-only-runway-key" };
  for (const answer of [
    await registration({}),
    await registration({ provider: "runway" }, bindings),
  ]) {
    expect(Object.keys(answer).filter((name) => /hook|parameter/.test(name))).toEqual([]);
  }
});

/** Bindings of a relay that does not know its own address. */
const UNADDRESSED = { ...env, PUBLIC_URL: "" };
/** Part of what Cloudflare says of a request: the data centre that has taken it. */
const CF = { colo: "FRA" };

it("a task's hook URL begins with PUBLIC_URL, whatever host the registration was sent to", async () => {
  const body = { model: "m", provider: "ark" };
  for (const origin of [ORIGIN, "https://other.example.net", "http://localhost:8787"]) {
    const response = await call(`${origin}/v1/tasks`, { body });
    expect(await response.text()).toContain(`"hook_url":"${ORIGIN}/hooks/ark/`);
  }
});

it.each([
  "http://localhost:8787",
  "http://localhost.",
  "http://127.0.0.1:8787",
  "http://127.8.9.10",
  "https://[::1]:8787",
])(
  "without PUBLIC_URL, a registration that names a provider and is sent to the local address %s gets a hook URL that begins with this address",
  async (origin) => {
    const body = { model: "m", provider: "ark" };
    const response = await callWith(UNADDRESSED, `${origin}/v1/tasks`, { body });
    expect(response.status).toBe(201);
    expect(await response.text()).toContain(`"hook_url":"${origin}/hooks/ark/`);
  },
);

it.each([ORIGIN, "https://task-relay.acme.workers.dev", "https://relay.example.com:8443"])(
  "without PUBLIC_URL, a registration that Cloudflare brings from %s gets a hook URL that begins with this origin, and so does the job of a submission",
  async (origin) => {
    const body = { model: "m", provider: "ark" };
    const registered = await callWith(UNADDRESSED, `${origin}/v1/tasks`, { body, cf: CF });
    expect(registered.status).toBe(201);
    expect(await registered.text()).toContain(`"hook_url":"${origin}/hooks/ark/`);

    const outside = anArk();
    const id = crypto.randomUUID();
    const bindings = { ...BINDINGS, PUBLIC_URL: "" };
    await restart(id, bindings);
    const headers = { "Relay-Task-Id": id };
    const path = `${origin}/v1/submit/ark${ARK_PATH}`;
    const submitted = await callWith(bindings, path, { body: BODY, headers, cf: CF });
    expect(submitted.status).toBe(200);
    expect(sentToArk(outside).body).toContain(`"${origin}/hooks/ark/${id}/`);
  },
);

it.each<readonly [string, string, Message["cf"]]>([
  ["outside Cloudflare", ORIGIN, undefined],
  ["outside Cloudflare", "https://localhost.example.com", undefined],
  ["outside Cloudflare", "http://127.0.0.1.example.com", undefined],
  ["outside Cloudflare", "http://128.0.0.1", undefined],
  ["outside Cloudflare", "http://10.0.0.1", undefined],
  ["outside Cloudflare", "http://[::2]", undefined],
  ["over Cloudflare without TLS", "http://relay.example.com", CF],
  ["with a cf that names no data centre", ORIGIN, { country: "DE" }],
  ["with a cf whose data centre is not a name", ORIGIN, { colo: 7 }],
])(
  "without PUBLIC_URL, a registration sent %s to %s with a provider that sends hooks is refused with 503 not_configured and stores nothing",
  async (_, origin, cf) => {
    const account = await anAccount(5);
    const id = crypto.randomUUID();
    const body = { id, model: "m", provider: "ark", account, credits: 2 };
    const asked = { body, ...(cf && { cf }) };
    const response = await callWith(UNADDRESSED, `${origin}/v1/tasks`, asked);
    expect(response.headers.get("Retry-After")).toBe("60");
    expect(ProblemBody.parse(await response.json())).toMatchObject({
      status: 503,
      code: "not_configured",
      detail: expect.stringContaining("PUBLIC_URL"),
    });
    expect(await stored(id)).toEqual(NOTHING);
    expect(await balanceOf(account)).toBe(5);
  },
);

it("without PUBLIC_URL, tasks can be registered without a provider and with providers that send no hooks", async () => {
  const bindings = { ...UNADDRESSED, RUNWAY_API_KEY: "test-only-runway-key", SANDBOX: "true" };
  for (const fields of [{}, { provider: "runway" }, { model: "sandbox/ok", provider: "sandbox" }]) {
    const body = { model: "m", ...fields };
    expect((await callWith(bindings, "/v1/tasks", { body })).status).toBe(201);
  }
});

it("reading a task does not show the hook URL that its registration returned", async () => {
  const task = await hooked({ provider: "ark" });
  expect(JSON.stringify(await readHooked(task))).not.toContain(partsOf(task.hookUrl).token);
});

const rotated = { ...env, RELAY_SECRET: `${OTHER_SECRET} ${env.RELAY_SECRET}` };
const dropped = { ...env, RELAY_SECRET: OTHER_SECRET };

it.each([
  ["the only secret", env, [200, 200, 404]],
  ["the newer of the two secrets", rotated, [404, 200, 200]],
])(
  "a hook URL made with %s in RELAY_SECRET works as long as RELAY_SECRET contains that secret",
  async (_, made, codes) => {
    const task = await hooked({ provider: "ark", bindings: made });
    const statuses = [];
    for (const bindings of [env, rotated, dropped]) {
      statuses.push((await sendHook({ ...task, bindings }, RUNNING)).status);
    }
    expect(statuses).toEqual(codes);
  },
);

it("a hook URL works with the task id in upper case, even after the provider's job was attached to the task", async () => {
  const task = await hooked({ provider: "ark" });
  expect((await attach(task, "cgt-1")).status).toBe(200);
  const hookUrl = task.hookUrl.replace(task.id, task.id.toUpperCase());
  expect(await answerOf(await sendHook({ ...task, hookUrl }, RUNNING))).toEqual([200, "ok"]);
  expect(await readHooked(task)).toMatchObject({ status: "processing" });
});

/** Wrong paths, made from the hook URL of a task and that of another task. */
const WRONG: readonly [string, (own: string, other: string) => string][] = [
  ["the token of another task", (own, other) => pathWith(own, { token: partsOf(other).token })],
  ["the name of another connection to the provider", (own) => pathWith(own, { provider: "ark-2" })],
  ["the name of another provider", (own) => pathWith(own, { provider: "kling" })],
  ["an unknown provider", (own) => pathWith(own, { provider: "nobody" })],
  ["a provider without hooks", (own) => pathWith(own, { provider: "runway" })],
  ["the sandbox as provider", (own) => pathWith(own, { provider: "sandbox" })],
  ["a truncated token", (own) => new URL(own).pathname.slice(0, -1)],
  ["a token that is too long", (own) => `${new URL(own).pathname}A`],
  ["an altered token", altered],
  ["a token in another encoding", (own) => `${new URL(own).pathname.slice(0, -1)}%3D`],
  ["a malformed id", (own) => pathWith(own, { id: "none" })],
  ["an unknown id", (own) => pathWith(own, { id: crypto.randomUUID() })],
];

it.each(WRONG)(
  "a hook to a task's hook URL that was changed to have %s gets 404 as for an unknown task, and calls no Durable Object",
  async (_, wrong) => {
    const received = aReceiver();
    const [task, other] = [
      await hooked({ provider: "ark", bindings: TWO_ARKS }),
      await hooked({ provider: "ark", bindings: TWO_ARKS }),
    ];
    const asked: string[] = [];
    const getByName = (name: string) => (asked.push(name), env.TASKS.getByName(name));
    const bindings = { ...TWO_ARKS, TASKS: { getByName } };
    const path = wrong(task.hookUrl, other.hookUrl);
    const unknown = await callWith(TWO_ARKS, `/v1/tasks/${crypto.randomUUID()}`);
    const objects = (await listDurableObjectIds(env.TASKS)).length;
    await expectUnchanged(task.id, () =>
      expectUnchanged(other.id, async () => {
        const response = await callWith(bindings, path, { body: RUNNING, key: null });
        expect(await answerOf(response)).toEqual(await answerOf(unknown));
      }),
    );
    expect(unknown.status).toBe(404);
    expect(asked).toEqual([]);
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(objects);
    expect(received).toEqual([]);
  },
);

it("a hook with a wrong token in its URL is answered with 404 before its body is read", async () => {
  const { hookUrl } = await hooked({ provider: "ark" });
  const body = "x".repeat(256 * 1024 + 1);
  expect((await callWith(env, altered(hookUrl), { body, key: null })).status).toBe(404);
});

it("a hook gets 404 when the task id in its URL was replaced by that of a task that was registered without a provider", async () => {
  const task = await hooked({ provider: "ark-2", bindings: TWO_ARKS });
  const path = pathWith(task.hookUrl, { id: await register() });
  const response = await callWith(TWO_ARKS, path, { body: RUNNING, key: null });
  expect(await refusal(response)).toEqual(UNKNOWN_TASK);
});

const challenged = (challenge: unknown) => JSON.stringify({ challenge });

it.each([
  ["without MINIMAX_API_KEY", env],
  ["with MINIMAX_API_KEY", { ...env, MINIMAX_API_KEY: "test-only-minimax-key" }],
])(
  "%s configured, a challenge in a hook of MiniMax that comes before a job is attached is returned in the response, and changes nothing",
  async (_, bindings) => {
    const task = await hooked({ provider: "minimax", bindings });
    await expectUnchanged(task.id, async () => {
      for (const challenge of ["c", 'a "quoted" one', "x".repeat(512)]) {
        const response = await sendHook(task, challenged(challenge));
        expect(response.headers.get("Content-Type")).toBe("application/json");
        expect([response.status, await response.json()]).toEqual([200, { challenge }]);
      }
    });
  },
);

it("a challenge in a hook of MiniMax is returned in the response even after a job was attached to the task, and after the task has ended", async () => {
  anOutside().on(CALLBACK_URL, answering("thank you"));
  const task = await hooked({ provider: "minimax" });
  await attach(task, "115334141465231360");
  const echoed = [200, challenged("c")];
  expect(await answerOf(await sendHook(task, challenged("c")))).toEqual(echoed);
  await sendHook(task, JSON.stringify({ task_id: "115334141465231360", status: "Fail" }));
  expect(await readHooked(task)).toMatchObject({ status: "failed" });
  expect(await answerOf(await sendHook(task, challenged("c")))).toEqual(echoed);
  await until(async () => JSON.stringify(await readHooked(task)).includes("delivered_at"));
});

it.each([
  ["513 characters", "x".repeat(513)],
  ["an empty text", ""],
  ["a number", 7],
  ["an object", { a: 1 }],
])(
  "a challenge in a hook of MiniMax is not returned in the response when it is %s",
  async (_, challenge) => {
    const task = await hooked({ provider: "minimax" });
    expect(await answerOf(await sendHook(task, challenged(challenge)))).toEqual([200, "ok"]);
  },
);

it.each(SENDERS.filter(({ provider }) => provider !== "minimax"))(
  "a challenge in a hook of $provider, which does not check hook URLs by challenges, is not returned in the response",
  async ({ provider, keyVars, sign }) => {
    anOutside().on("https://", answering({}, 500));
    const task = await hooked({ provider, bindings: { ...env, ...keyVars } });
    const body = challenged("echo me");
    const text = await (await sendHook(task, body, await sign(body, task))).text();
    expect(text).not.toContain("echo me");
  },
);
