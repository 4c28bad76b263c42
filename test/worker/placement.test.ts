import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { ObjectBinding } from "../../src/config/object-bindings.ts";
import { runScheduled } from "../../src/cron/cron.ts";
import type { Env } from "../../src/env.ts";
import { comparedRuntimeOf, placedRuntimeOf } from "../../src/objects/placed-runtime.ts";
import { ObjectPlatform } from "../../src/objects/task/object-platform.ts";
import { callWith, type Message, ProblemBody } from "./client.ts";
import { realMs, until, useClock } from "./clock.ts";
import { NOTHING, stored, stubOf } from "./objects.ts";
import { started } from "./started.ts";
import { CALLBACK_URL, register } from "./tasks.ts";

useClock();

/** One use of a namespace: the jurisdiction, the object's name and the options. */
type Use = readonly [jurisdiction: string | null, name: string, options: unknown];

const isMarker = ([, name]: Use) => name === "index:";

interface Namespace {
  readonly getByName: (name: string) => unknown;
}

/**
 * Returns a namespace that records its uses, because workerd has no jurisdictions. The stubs are real; the
 * object `index:` is another one for each `deployment`.
 */
function recording(real: Namespace, deployment: string, uses: Use[]) {
  const within = (jurisdiction: string | null) => ({
    jurisdiction: within,
    getByName: (name: string, options?: unknown) => {
      uses.push([jurisdiction, name, options]);
      return real.getByName(name === "index:" ? `index:${deployment}` : name);
    },
  });
  return within(null);
}

/** Returns the bindings of a deployment that records the names and jurisdictions of the objects it calls. */
function deployed(vars: object, deployment: string = crypto.randomUUID()) {
  const uses: Use[] = [];
  const record = (namespace: Namespace) => recording(namespace, deployment, uses);
  const namespaces = {
    TASKS: record(env.TASKS),
    ACCOUNTS: record(env.ACCOUNTS),
    LISTENERS: record(env.LISTENERS),
    CONNECTION_OBJECTS: record(env.CONNECTION_OBJECTS),
    HOSTS: record(env.HOSTS),
    DIGESTS: record(env.DIGESTS),
    DEPLOYMENT: record(env.DEPLOYMENT),
    OUTPUT_OBJECTS: record(env.OUTPUT_OBJECTS),
    JOBS: record(env.JOBS),
    CALLS: record(env.CALLS),
    QUEUES: record(env.QUEUES),
    OFFER_BOOK: record(env.OFFER_BOOK),
  } satisfies Record<ObjectBinding, Namespace>;
  return { uses, deployment, bindings: { ...env, ...vars, ...namespaces } };
}

const answerLater = async () => {
  await realMs(20);
  return "us";
};

const fail = () => Promise.reject(new Error("Network connection lost."));

type Bindings = ReturnType<typeof deployed>["bindings"];

/** Returns the bindings with another answer of the object that stores the jurisdiction. */
function answering(bindings: Bindings, claimJurisdiction: () => string | Promise<string>) {
  const { getByName, jurisdiction } = bindings.ACCOUNTS;
  const replaced = (name: string, options?: unknown) =>
    name === "index:" ? { claimJurisdiction } : getByName(name, options);
  return { ...bindings, ACCOUNTS: { jurisdiction, getByName: replaced } };
}

/**
 * Returns the environment of an isolate of a relay with `JURISDICTION=eu` in which the object that stores the
 * jurisdiction answers so.
 */
async function isolateAnswering(claimJurisdiction: () => string | Promise<string>): Promise<Env> {
  const { ACCOUNTS } = answering(deployed({}).bindings, claimJurisdiction);
  const isolate: Env = Object.create(await started({ ...env, JURISDICTION: "eu" }), {
    ACCOUNTS: { value: ACCOUNTS },
  });
  return isolate;
}

/** Has the isolate with these bindings compare its jurisdiction with the stored one, and waits for the answer. */
async function compared(bindings: Bindings): Promise<void> {
  await callWith(bindings, "/healthz");
}

/** The calls that a task makes to account objects, with any bindings. */
interface Caller extends Pick<ObjectPlatform, "charge" | "refund" | "load" | "commit"> {
  prepare(env: object): void;
}

/** Returns requests of every kind that calls an object. */
function requests(id: string): readonly (readonly [string, Message])[] {
  const account = `acct_${id}`;
  return [
    ["/v1/tasks", { body: { id, model: "m", callback_url: CALLBACK_URL, provider: "sandbox" } }],
    ["/v1/events", { body: { id, status: "processing" } }],
    [`/v1/tasks/${id}`, {}],
    [`/v1/tasks/${id}/cancel`, { method: "POST" }],
    [`/v1/tasks/${id}`, { key: "an-unknown-key-of-an-account" }],
    ["/v1/accounts", { body: { id: account } }],
    [`/v1/accounts/${account}`, {}],
    [`/v1/accounts/${account}/keys`, { body: {} }],
    [`/v1/accounts/${account}/keys`, {}],
    [`/v1/accounts/${account}/grants`, { body: { reference: "r", amount: 5 } }],
    ["/healthz", {}],
  ];
}

const VARS = { JURISDICTION: "eu", LOCATION_HINT: "weur", SANDBOX: "true", ARK_API_KEY: "k" };

it("JURISDICTION and LOCATION_HINT decide where each Durable Object that a request calls is created, except the one that stores the deployment's jurisdiction", async () => {
  const { uses, bindings } = deployed(VARS);
  await compared(bindings);
  const id = crypto.randomUUID();
  for (const [path, message] of requests(id)) {
    const response = await callWith(bindings, path, message);
    expect([path, response.status < 500]).toEqual([path, true]);
  }
  expect(uses.filter(isMarker)).toEqual([[null, "index:", undefined]]);
  const others = uses.filter((use) => !isMarker(use));
  for (const use of others) expect(use).toEqual(["eu", use[1], { locationHint: "weur" }]);
  const names = others.map(([, name]) => name);
  expect(names).toContain(id);
  expect(names).toContain(`acct_${id}`);
  expect(names).toContain("ark");
  expect(names.some((name) => name.startsWith("keys:"))).toBe(true);
});

it("JURISDICTION and LOCATION_HINT decide where the Durable Object of an account that a task calls is created", async () => {
  const { uses, bindings } = deployed(VARS);
  const id = crypto.randomUUID();
  const order = { chargeId: "c", accountId: "acct_none", amount: 1, taskId: id };
  const charge = { ...order, model: "m", bookedBy: null };
  await runInDurableObject(stubOf(id), async (_, ctx) => {
    const relay = await started(bindings);
    const platform: Caller = Reflect.construct(ObjectPlatform, [ctx, relay, {}]);
    platform.prepare(relay);
    await platform.charge(charge);
    await platform.refund({ ...charge, reason: "failed", submissionId: null });
  });
  const [marker, ...others] = uses;
  expect(marker).toEqual([null, "index:", undefined]);
  const placed = ["eu", "acct_none", { locationHint: "weur" }];
  expect(others).toEqual([placed, placed]);
});

it("without JURISDICTION and LOCATION_HINT, the platform chooses where Durable Objects are created", async () => {
  const { uses, bindings } = deployed({});
  const id = crypto.randomUUID();
  await callWith(bindings, `/v1/tasks/${id}`);
  expect(uses).toEqual([
    [null, "index:", undefined],
    [null, id, undefined],
  ]);
});

it("each isolate compares JURISDICTION only once with the value that the deployment has stored", async () => {
  const { uses, bindings } = deployed({ JURISDICTION: "us" });
  for (let n = 0; n < 3; n++) {
    await callWith(bindings, `/v1/tasks/${crypto.randomUUID()}`);
    await compared(bindings);
  }
  expect(uses.filter(isMarker)).toHaveLength(1);
});

it.each([
  ["changed to another value", { JURISDICTION: "eu" }, { JURISDICTION: "us" }, "must be eu"],
  ["removed", { JURISDICTION: "fedramp" }, {}, "must be fedramp"],
  ["set for the first time", {}, { JURISDICTION: "eu" }, "must be empty"],
])(
  "an isolate that has learned that JURISDICTION was %s since the deployment stored it answers 503, and calls no Durable Object of a task or an account",
  async (_, first, second, message) => {
    const { deployment, bindings } = deployed(first);
    await compared(bindings);

    const later = deployed(second, deployment);
    await compared(later.bindings);
    const id = crypto.randomUUID();
    const detail = `JURISDICTION ${message}`;
    for (const [path, request] of requests(id).slice(0, -1)) {
      const response = await callWith(later.bindings, path, request);
      expect(response.status).toBe(503);
      const problem = ProblemBody.parse(await response.json());
      expect(problem).toMatchObject({ code: "not_configured" });
      expect(problem.detail).toContain(detail);
    }
    const health = await callWith(later.bindings, "/healthz", { key: null });
    expect(await health.json()).toMatchObject({ issues: [{ path: "JURISDICTION" }] });
    expect(later.uses).toEqual([[null, "index:", undefined]]);
    expect(await stored(id)).toEqual(NOTHING);

    const again = deployed(first, deployment);
    await compared(again.bindings);
    expect((await callWith(again.bindings, `/v1/tasks/${id}`)).status).toBe(404);
  },
);

it("an isolate with a wrong JURISDICTION serves tasks until it has read the stored value; the operator's GET /healthz and the cron job wait for this reading", async () => {
  const slow = answering(deployed({ JURISDICTION: "eu" }).bindings, answerLater);
  const id = crypto.randomUUID();
  const read = async () => (await callWith(slow, `/v1/tasks/${id}`)).status;
  expect(await read()).toBe(404);
  expect((await callWith({ ...slow }, "/healthz", { key: null })).status).toBe(200);
  const relay = await isolateAnswering(answerLater);
  await runInDurableObject(stubOf(id), async (_, ctx) => {
    const platform: Caller = Reflect.construct(ObjectPlatform, [ctx, relay, {}]);
    const prepare = () => platform.prepare(relay);
    prepare();
    await until(() => !placedRuntimeOf(relay).ok);
    expect(prepare).toThrow("JURISDICTION must be us");
  });
  await until(async () => (await read()) === 503);

  expect((await callWith({ ...slow }, "/healthz")).status).toBe(503);
  const ofCron = await isolateAnswering(answerLater);
  await runScheduled(ofCron, 0);
  expect(placedRuntimeOf(ofCron).ok).toBe(false);
});

it("once an isolate has learned that the deployment's objects are in another jurisdiction, it logs once each task that it stored before or stores now", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const relay = await isolateAnswering(() => "us");
  const ids = [await register(), await register()];
  const storeAgain = (id: string) =>
    runInDurableObject(stubOf(id), (_, ctx) => {
      const platform: Caller = Reflect.construct(ObjectPlatform, [ctx, relay, {}]);
      const record = platform.load();
      if (record !== null) platform.commit(record, null);
    });
  const [early = "", late = ""] = ids;
  for (const id of [early, early]) await storeAgain(id);
  expect(error).not.toHaveBeenCalled();
  expect(await comparedRuntimeOf(relay)).toMatchObject({ error: [{ path: "JURISDICTION" }] });
  for (const id of [early, late]) await storeAgain(id);
  const line = { event: "task.misplaced", stored_jurisdiction: "us" };
  expect(error.mock.calls.map(([text]) => JSON.parse(String(text)))).toMatchObject(
    ids.map((id) => ({ ...line, task_id: id })),
  );
});

it("an isolate that cannot read the deployment's stored jurisdiction still answers requests, and tries to read it again a minute later", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  let asked = 0;
  const away = answering(deployed({ JURISDICTION: "eu" }).bindings, () => {
    asked += 1;
    return fail();
  });
  for (let n = 0; n < 2; n++) {
    expect((await callWith(away, `/v1/tasks/${crypto.randomUUID()}`)).status).toBe(404);
  }
  expect(asked).toBe(1);
  vi.setSystemTime(Date.now() + 60_000);
  await callWith(away, `/v1/tasks/${crypto.randomUUID()}`);
  expect(asked).toBe(2);
  await until(() => warn.mock.calls.length === 2);
});
