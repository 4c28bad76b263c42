import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { ObjectBinding } from "../../src/config/object-bindings.ts";
import { ObjectPlatform } from "../../src/objects/task/object-platform.ts";
import { callWith, type Message, ProblemBody } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored, stubOf } from "./objects.ts";
import { started } from "./started.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

/** One use of a namespace: the jurisdiction, the object's name and the options. */
type Use = readonly [jurisdiction: string | null, name: string, options: unknown];

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
  } satisfies Record<ObjectBinding, Namespace>;
  return { uses, deployment, bindings: { ...env, ...vars, ...namespaces } };
}

const fail = () => Promise.reject(new Error("Network connection lost."));

/** The calls that a task makes to account objects, with any bindings. */
interface Caller extends Pick<ObjectPlatform, "charge" | "refund"> {
  prepare(env: object): Promise<void>;
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

it("JURISDICTION and LOCATION_HINT place every object that a request calls, except the one that stores the first request's JURISDICTION", async () => {
  const { uses, bindings } = deployed(VARS);
  const id = crypto.randomUUID();
  for (const [path, message] of requests(id)) {
    const response = await callWith(bindings, path, message);
    expect([path, response.status < 500]).toEqual([path, true]);
  }
  const [marker, ...others] = uses;
  expect(marker).toEqual([null, "index:", undefined]);
  for (const use of others) expect(use).toEqual(["eu", use[1], { locationHint: "weur" }]);
  const names = others.map(([, name]) => name);
  expect(names).toContain(id);
  expect(names).toContain(`acct_${id}`);
  expect(names).toContain("ark");
  expect(names.some((name) => name.startsWith("keys:"))).toBe(true);
});

it("JURISDICTION and LOCATION_HINT determine where the account object that a task calls is placed", async () => {
  const { uses, bindings } = deployed(VARS);
  const id = crypto.randomUUID();
  const charge = { chargeId: "c", accountId: "acct_none", amount: 1, taskId: id, bookedBy: null };
  await runInDurableObject(stubOf(id), async (_, ctx) => {
    const relay = await started(bindings);
    const platform: Caller = Reflect.construct(ObjectPlatform, [ctx, relay, {}]);
    await platform.prepare(relay);
    await platform.charge(charge);
    await platform.refund({ ...charge, reason: "failed" });
  });
  const [marker, ...others] = uses;
  expect(marker).toEqual([null, "index:", undefined]);
  const placed = ["eu", "acct_none", { locationHint: "weur" }];
  expect(others).toEqual([placed, placed]);
});

it("the platform chooses where objects are placed when JURISDICTION and LOCATION_HINT are not set", async () => {
  const { uses, bindings } = deployed({});
  const id = crypto.randomUUID();
  await callWith(bindings, `/v1/tasks/${id}`);
  expect(uses).toEqual([
    [null, "index:", undefined],
    [null, id, undefined],
  ]);
});

it("JURISDICTION is compared with the value that was stored at the first request only once in each isolate", async () => {
  const { uses, bindings } = deployed({ JURISDICTION: "us" });
  for (let n = 0; n < 3; n++) await callWith(bindings, `/v1/tasks/${crypto.randomUUID()}`);
  expect(uses.filter(([, name]) => name === "index:")).toHaveLength(1);
});

it.each([
  ["changed to another value", { JURISDICTION: "eu" }, { JURISDICTION: "us" }, "must be eu"],
  ["removed", { JURISDICTION: "fedramp" }, {}, "must be fedramp"],
  ["set for the first time", {}, { JURISDICTION: "eu" }, "must be empty"],
])(
  "a relay whose JURISDICTION was %s after the first request answers 503 and calls no task or account object",
  async (_, first, second, message) => {
    const { deployment, bindings } = deployed(first);
    expect((await callWith(bindings, `/v1/tasks/${crypto.randomUUID()}`)).status).toBe(404);

    const later = deployed(second, deployment);
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
    expect((await callWith(again.bindings, `/v1/tasks/${id}`)).status).toBe(404);
  },
);

it("a relay that cannot read the JURISDICTION stored at its first request answers requests, and compares its own value with it a minute later", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { uses, bindings } = deployed({ JURISDICTION: "eu" });
  const { getByName, jurisdiction } = bindings.ACCOUNTS;
  const broken = (name: string, options?: unknown) => {
    const stub = getByName(name, options);
    return name === "index:" ? { claimJurisdiction: fail } : stub;
  };
  const away = { ...bindings, ACCOUNTS: { jurisdiction, getByName: broken } };
  for (let n = 0; n < 2; n++) {
    expect((await callWith(away, `/v1/tasks/${crypto.randomUUID()}`)).status).toBe(404);
  }
  expect(uses.filter(([, name]) => name === "index:")).toHaveLength(1);
  vi.setSystemTime(Date.now() + 60_000);
  await callWith(away, `/v1/tasks/${crypto.randomUUID()}`);
  expect(uses.filter(([, name]) => name === "index:")).toHaveLength(2);
  expect(warn).toHaveBeenCalledTimes(2);
});
