import { expect, it } from "vitest";
import { isObject, parseJson } from "../../src/core/json.ts";
import { type Connection, membersOf, queuesOf, secretsOf } from "../../src/providers/provider.ts";
import { DECLARATIONS, OWN_DECLARATIONS } from "./declarations.ts";
import { configuredWith, connections, MARK } from "../core/configuration.ts";

const KLING = { provider: "kling", key: "k" };
const SECRET = `whsec_${btoa("s".repeat(32))}`;
const MEMBERS = {
  "kling-a": { ...KLING, in_flight: 5 },
  "kling-b": {
    ...KLING,
    key: "l",
    webhook_secret: SECRET,
    base_url: "https://api-beijing.klingai.com",
  },
  "ark-2": { provider: "ark", key: "k" },
};
const OF = ["kling-a", "kling-b"];
const POOL = { provider: "pool", of: OF };

/** Returns the configuration, which must be valid. */
function valid(vars: object) {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** Returns a connection of a valid configuration with these entries. */
function connectionIn(entries: object, name: string): Connection {
  const connection = valid(connections(entries)).connections.get(name);
  if (connection === undefined) throw new Error(`no connection ${name}`);
  return connection;
}

/** Returns the faults of the connections that are disabled, each as one text. */
function faultsIn(entries: object, vars: object = {}): readonly string[] {
  const config = valid({ ...connections({ ...MEMBERS, ...entries }), ...vars });
  expect(config.disabledConnections.filter(({ name }) => name !== "x")).toEqual([]);
  expect(config.connections.has("x")).toBe(config.disabledConnections.length === 0);
  expect([...config.connections.keys()]).toEqual(expect.arrayContaining(Object.keys(MEMBERS)));
  return config.disabledConnections.flatMap(({ issues }) =>
    issues.map(({ path, message }) => `${path} ${message}`),
  );
}

function namesOf(list: readonly Connection[]): readonly string[] {
  return list.map(({ name }) => name);
}

it("a connection has no limit of jobs in flight unless its entry has in_flight, and 1,000 submissions may wait unless it has queue", () => {
  expect(connectionIn({ x: KLING }, "x")).toMatchObject({
    inFlight: null,
    queueLimit: 1_000,
    pool: null,
  });
  expect(connectionIn({ x: { ...KLING, in_flight: 3, queue: 0 } }, "x")).toMatchObject({
    inFlight: 3,
    queueLimit: 0,
  });
  const declared = { ...DECLARATIONS.runpod, key: "k", in_flight: 10_000, queue: 100_000 };
  expect(connectionIn({ x: declared }, "x")).toMatchObject({
    inFlight: 10_000,
    queueLimit: 100_000,
  });
});

it.each([
  ["in_flight", 0],
  ["in_flight", 10_001],
  ["in_flight", "5"],
  ["in_flight", 2.5],
  ["in_flight", MARK],
  ["queue", -1],
  ["queue", 100_001],
  ["queue", true],
] as const)(
  "a connection with the limit %s of %j is disabled alone, by a message that names its entry, also if it declares its upstream",
  (member, value) => {
    for (const entry of [KLING, { ...DECLARATIONS.runpod, key: "k" }, POOL]) {
      const faults = faultsIn({ x: { ...entry, [member]: value } });
      expect(faults).toHaveLength(1);
      const reason = "provider" in entry && entry.provider === "pool" && member === "in_flight";
      expect(faults[0]).toMatch(
        reason ? "must be left out of a pool" : /must be a whole number from \d+ to \d+$/,
      );
      expect(faults[0]).toContain(`CONNECTIONS.x.${member} `);
      expect(faults[0]).not.toContain(MARK);
    }
  },
);

it("a pool has its own name and limits, and provider, base URL and key of its first member with an API key", () => {
  const entries = {
    ...MEMBERS,
    x: { provider: "pool", of: ["open", ...OF], queue: 7 },
    open: { provider: "kling" },
  };
  const pool = connectionIn(entries, "x");
  expect(pool).toMatchObject({
    name: "x",
    provider: { name: "kling" },
    key: "k",
    inFlight: null,
    queueLimit: 7,
  });
  expect(pool.baseUrl).toBe(connectionIn(entries, "kling-a").baseUrl);
  expect(namesOf(membersOf(pool))).toEqual(["open", ...OF]);
  expect(secretsOf(pool)).toEqual([null, null, "k", null, "l", SECRET]);
  expect(connectionIn({ ...MEMBERS, x: POOL }, "x").queueLimit).toBe(1_000);
});

it("a job of a pool that has failed is submitted again only if the pool has failures, which must be true or false", () => {
  const pools = [{}, { failures: false }, { failures: true }].map((entry) => {
    return connectionIn({ ...MEMBERS, x: { ...POOL, ...entry } }, "x").pool;
  });
  expect(pools.map((pool) => pool?.submitsFailedAgain)).toEqual([false, false, true]);
  for (const failures of ["true", 1, null, MARK]) {
    const fault = "CONNECTIONS.x.failures must be true or false";
    expect(faultsIn({ x: { ...POOL, failures } })).toEqual([fault]);
  }
});

it("submissions wait in the queue of a limited connection, in those of the members of a pool that have an API key, and in none otherwise", () => {
  const entries = { ...MEMBERS, open: { provider: "kling" } };
  const queues = (name: string, more: object = {}) =>
    namesOf(queuesOf(connectionIn({ ...entries, ...more }, name)));
  expect(queues("kling-a")).toEqual(["kling-a"]);
  expect(queues("kling-b")).toEqual([]);
  expect(queues("x", { x: { ...POOL, of: ["kling-b", "open", "kling-a"] } })).toEqual([
    "kling-b",
    "kling-a",
  ]);
});

it.each<[string, object, string]>([
  [
    "members of two providers",
    { of: ["kling-a", "ark-2"] },
    ".of.1 must name a connection of the same provider as the first",
  ],
  ["a member that does not exist", { of: ["kling-a", MARK] }, ".of.1 must name a connection"],
  ["a member that is a number", { of: [5] }, ".of.0 must name a connection"],
  ["no member", { of: [] }, ".of must be a list of 1 to 32 names of connections"],
  [
    "33 members",
    { of: Array.from({ length: 33 }, (_, i) => `k-${i}`) },
    ".of must be a list of 1 to 32 names of connections",
  ],
  ["no list of members", { of: "kling-a" }, ".of must be a list of 1 to 32 names of connections"],
  [
    "a member twice",
    { of: ["kling-a", "kling-b", "kling-a"] },
    ".of.2 must not name a connection that the pool has already",
  ],
  ["itself as a member", { of: ["x"] }, ".of.0 must not name a pool"],
  [
    "only a member without an API key",
    { of: ["kling"] },
    ".of must name a connection that has an API key",
  ],
  [
    "the sandbox as a member",
    { of: ["sandbox"] },
    ".of must name a connection that has an API key",
  ],
  ["a key of its own", { of: OF, key: MARK }, ".key must be left out of a pool"],
])("a pool with %s is disabled alone, by a message that names its entry", (_, entry, fault) => {
  const faults = faultsIn({ x: { provider: "pool", ...entry } }, { SANDBOX: "true" });
  expect(faults).toEqual([`CONNECTIONS.x${fault}`]);
});

it("a pool with a disabled connection or another pool as a member is disabled alone", () => {
  const config = valid(
    connections({
      ...MEMBERS,
      bad: { ...KLING, in_flight: 0 },
      good: POOL,
      x: { provider: "pool", of: ["bad", "good"] },
    }),
  );
  expect(config.disabledConnections).toMatchObject([
    { name: "bad", provider: "kling", issues: [{ path: "CONNECTIONS.bad.in_flight" }] },
    {
      name: "x",
      provider: "pool",
      issues: [
        {
          path: "CONNECTIONS.x.of.0",
          message: "must not name a connection that is disabled",
        },
        { path: "CONNECTIONS.x.of.1", message: "must not name a pool" },
      ],
    },
  ]);
  expect(config.connections.get("good")?.pool?.members).toHaveLength(2);
});

it("a pool with the name of a provider, of a connection or of an earlier pool is disabled, and what has the name already works on", () => {
  for (const name of ["kling", "pool", "generic", "kling-a"]) {
    const config = valid({
      ...connections(MEMBERS),
      CONNECTIONS_2: JSON.stringify({ [name]: POOL }),
    });
    expect(config.disabledConnections).toMatchObject([
      { name, issues: [{ path: `CONNECTIONS_2.${name}` }] },
    ]);
    expect(config.connections.get(name)?.pool ?? null).toBeNull();
  }
  const twice = valid({
    ...connections({ ...MEMBERS, x: POOL }),
    CONNECTIONS_2: JSON.stringify({ x: { ...POOL, of: ["ark-2"] } }),
  });
  expect(twice.connections.get("x")?.provider.name).toBe("kling");
  expect(twice.disabledConnections).toMatchObject([{ name: "x", provider: "pool" }]);
});

it("connections with declarations of their upstream can be members of one pool if their declarations differ only in key, base URL and limits", () => {
  const base = { ...DECLARATIONS.runpod, key: "k" };
  const other = { ...base, key: "l", base_url: "https://b.example/v2", in_flight: 1, queue: 2 };
  const poolOf = (second: object) =>
    faultsIn({ "gpu-1": base, "gpu-2": second, x: { provider: "pool", of: ["gpu-1", "gpu-2"] } });
  expect(poolOf(other)).toEqual([]);
  expect(poolOf({ ...other, words: { DONE: "failed" } })).toEqual([
    "CONNECTIONS.x.of.1 must name a connection of the same provider as the first",
  ]);
});

/** Parses a configuration with this pool and an offer for it. */
function offered(entry: object, more: object = {}) {
  return configuredWith({
    ...connections({ ...MEMBERS, x: entry }),
    OFFERS: JSON.stringify([{ connection: "x", models: ["*"], ...more }]),
  });
}

it("an offer may name a pool, also a disabled one, but not for keys of customers", () => {
  expect(offered(POOL).ok).toBe(true);
  expect(offered({ ...POOL, of: [] }).ok).toBe(true);
  const ofCustomers = offered(POOL, { key: "customer" });
  expect(ofCustomers).toMatchObject({ ok: false, error: [{ path: "OFFERS" }] });
  expect(JSON.stringify(ofCustomers)).toContain("a pool takes no keys of customers");
});

it("the declaration of an upstream that is ready to paste can be limited and be a member of a pool", () => {
  for (const declared of Object.values({ ...DECLARATIONS, ...OWN_DECLARATIONS })) {
    const json = parseJson(JSON.stringify(declared));
    if (!isObject(json)) throw new Error("no declaration");
    const auth = "Authorization: Bearer {key}";
    const own = { key: "k", auth, base_url: "https://gpu.example.com", in_flight: 1 };
    const entry = { ...json, ...own };
    expect(
      faultsIn({ "gpu-1": entry, "gpu-2": entry, x: { provider: "pool", of: ["gpu-1", "gpu-2"] } }),
    ).toEqual([]);
  }
});
