import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { answerOf, attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, ORIGIN, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { stored } from "./objects.ts";
import { register } from "./tasks.ts";

useClock();

const OTHER_SECRET = "another-relay-secret-0123456789abcdef";
const RUNNING = JSON.stringify({ id: "cgt-1", status: "running" });
const TWO_ARKS = {
  ...env,
  CONNECTIONS: JSON.stringify({ "ark-2": { provider: "ark" } }),
};

async function registration(fields: object, bindings: object = env) {
  const body = { id: crypto.randomUUID(), model: "m", ...fields };
  const response = await app.fetch(aRequest("/v1/tasks", { body }), bindings);
  return z.looseObject({ id: z.string() }).parse(await response.json());
}

/** The parts of a hook URL. */
function partsOf(hookUrl: string) {
  const [, , provider = "", id = "", token = ""] = new URL(hookUrl).pathname.split("/");
  return { provider, id, token };
}

function hookPath({ provider, id, token }: ReturnType<typeof partsOf>): string {
  return `/hooks/${provider}/${id}/${token}`;
}

describe("a registration with a provider", () => {
  it.each([...PROVIDERS.values()].filter(({ hooks }) => hooks !== null))(
    "says where to submit the hook URL and our id: $name",
    async ({ name, hooks }) => {
      const answer = await registration({ provider: name });
      const token = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/);
      expect(partsOf(String(answer["hook_url"]))).toEqual({ provider: name, id: answer.id, token });
      expect(answer).toMatchObject({ hook_parameter: hooks?.parameter, provider: name });
      expect(answer["id_parameter"]).toBe(hooks?.idParameter ?? undefined);
      expect(new URL(String(answer["hook_url"])).search).toBe("");
    },
  );

  it("answers the same hook URL again", async () => {
    const body = { id: crypto.randomUUID(), model: "m", provider: "ark" };
    const first = await registration(body);
    expect(await registration(body)).toEqual(first);
  });

  it("says nothing of hooks without a provider, or where the provider sends none", async () => {
    const bindings = { ...env, RUNWAY_API_KEY: "test-only-runway-key" };
    for (const answer of [
      await registration({}),
      await registration({ provider: "runway" }, bindings),
    ]) {
      expect(Object.keys(answer).filter((name) => /hook|parameter/.test(name))).toEqual([]);
    }
  });

  it("uses PUBLIC_URL, and the origin of the request where it is not set", async () => {
    const bindings = { ...env, PUBLIC_URL: "https://hooks.example.org" };
    const { hook_url: configured } = await registration({ provider: "ark" }, bindings);
    const { hook_url: derived } = await registration({ provider: "ark" });
    expect(configured).toMatch(/^https:\/\/hooks\.example\.org\/hooks\/ark\//);
    expect(String(derived).startsWith(`${ORIGIN}/hooks/ark/`)).toBe(true);
  });

  it("shows the hook URL to nobody who reads the task", async () => {
    const task = await hooked({ provider: "ark" });
    expect(JSON.stringify(await readHooked(task))).not.toContain(partsOf(task.hookUrl).token);
  });
});

describe("a hook URL", () => {
  it("is still accepted when RELAY_SECRET has been replaced, and no longer when it was dropped", async () => {
    const task = await hooked({ provider: "ark" });
    const rotated = { ...env, RELAY_SECRET: `${OTHER_SECRET} ${env.RELAY_SECRET}` };
    const dropped = { ...env, RELAY_SECRET: OTHER_SECRET };
    expect(await answerOf(await sendHook({ ...task, bindings: rotated }, RUNNING))).toEqual([
      200,
      "ok",
    ]);
    expect((await sendHook({ ...task, bindings: dropped }, RUNNING)).status).toBe(404);
  });

  it("is made with the newest RELAY_SECRET", async () => {
    const rotated = { ...env, RELAY_SECRET: `${OTHER_SECRET} ${env.RELAY_SECRET}` };
    const task = await hooked({ provider: "ark", bindings: rotated });
    const newest = { ...env, RELAY_SECRET: OTHER_SECRET };
    expect((await sendHook({ ...task, bindings: newest }, RUNNING)).status).toBe(200);
    expect((await sendHook({ ...task, bindings: env }, RUNNING)).status).toBe(404);
  });

  it("takes the id in upper case", async () => {
    const task = await hooked({ provider: "ark" });
    const { id } = task;
    const hookUrl = task.hookUrl.replace(id, id.toUpperCase());
    expect((await sendHook({ ...task, hookUrl }, RUNNING)).status).toBe(200);
    expect(await readHooked(task)).toMatchObject({ status: "processing" });
  });

  it("answers GET with 405", async () => {
    const { hookUrl } = await hooked({ provider: "ark" });
    const response = await app.fetch(aRequest(new URL(hookUrl).pathname), env);
    expect(response.headers.get("Allow")).toBe("POST");
    expect(await refusal(response)).toEqual({ status: 405, code: "method_not_allowed" });
  });
});

describe("a hook URL that is not ours", () => {
  /** What is wrong, and the path that follows from a right one and from that of another task. */
  const WRONG: readonly [string, (own: string, other: string) => string][] = [
    [
      "the token of another task",
      (own, other) => hookPath({ ...partsOf(own), token: partsOf(other).token }),
    ],
    ["another connection", (own) => hookPath({ ...partsOf(own), provider: "ark-2" })],
    ["another provider", (own) => hookPath({ ...partsOf(own), provider: "kling" })],
    ["an unknown provider", (own) => hookPath({ ...partsOf(own), provider: "nobody" })],
    ["a provider without hooks", (own) => hookPath({ ...partsOf(own), provider: "runway" })],
    ["the sandbox", (own) => hookPath({ ...partsOf(own), provider: "sandbox" })],
    ["a truncated token", (own) => new URL(own).pathname.slice(0, -1)],
    ["a longer token", (own) => `${new URL(own).pathname}A`],
    ["an altered token", (own) => altered(new URL(own).pathname)],
    ["a token in another spelling", (own) => `${new URL(own).pathname.slice(0, -1)}%3D`],
    ["an id that is none", (own) => hookPath({ ...partsOf(own), id: "none" })],
    ["a new id", (own) => hookPath({ ...partsOf(own), id: crypto.randomUUID() })],
  ];

  it.each(WRONG)("is answered like any unknown task: %s", async (_, wrong) => {
    const received = aReceiver();
    const task = await hooked({ provider: "ark", bindings: TWO_ARKS });
    const other = await hooked({ provider: "ark", bindings: TWO_ARKS });
    const before = [await stored(task.id), await stored(other.id)];
    const objects = (await listDurableObjectIds(env.TASKS)).length;
    const path = wrong(task.hookUrl, other.hookUrl);
    const response = await app.fetch(aRequest(path, { body: RUNNING, key: null }), TWO_ARKS);
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(objects);
    const unknown = await app.fetch(aRequest(`/v1/tasks/${crypto.randomUUID()}`), TWO_ARKS);
    expect(await answerOf(response)).toEqual(await answerOf(unknown));
    expect(response.status).toBe(404);
    expect([await stored(task.id), await stored(other.id)]).toEqual(before);
    expect(received).toEqual([]);
  });

  it("reaches no object", async () => {
    const task = await hooked({ provider: "ark" });
    const asked: string[] = [];
    const watching = {
      ...env,
      TASKS: { getByName: (name: string) => (asked.push(name), env.TASKS.getByName(name)) },
    };
    const path = altered(new URL(task.hookUrl).pathname);
    await app.fetch(aRequest(path, { body: RUNNING, key: null }), watching);
    expect(asked).toEqual([]);
    await sendHook({ ...task, bindings: watching }, RUNNING);
    expect(asked).toEqual([task.id]);
  });

  it("is not believed for its body, however large", async () => {
    const { hookUrl } = await hooked({ provider: "ark" });
    const path = altered(new URL(hookUrl).pathname);
    const body = "x".repeat(256 * 1024 + 1);
    expect((await app.fetch(aRequest(path, { body, key: null }), env)).status).toBe(404);
  });

  it("is that of a connection with which the task was not registered", async () => {
    const task = await hooked({ provider: "ark-2", bindings: TWO_ARKS });
    const plain = await register();
    const { token } = partsOf(task.hookUrl);
    const response = await app.fetch(
      aRequest(hookPath({ provider: "ark-2", id: plain, token }), { body: RUNNING, key: null }),
      TWO_ARKS,
    );
    expect(await refusal(response)).toEqual({ status: 404, code: "unknown_task" });
  });
});

describe("the answer to a registration", () => {
  it("does not change what an attached task accepts: the hook URL of the registration stays", async () => {
    const task = await hooked({ provider: "ark" });
    expect((await attach(task, "cgt-1")).status).toBe(200);
    expect((await sendHook(task, RUNNING)).status).toBe(200);
    expect(await readHooked(task)).toMatchObject({ status: "processing" });
  });
});

/** With another first character of the token. */
function altered(path: string): string {
  const { provider, id, token } = partsOf(`${ORIGIN}${path}`);
  return hookPath({ provider, id, token: (token.startsWith("A") ? "B" : "A") + token.slice(1) });
}
