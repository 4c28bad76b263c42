import { expect, it } from "vitest";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { configuredWith, connections, connectionsOf, MARK } from "./configuration.ts";

const KEY = { provider: "ark", key: MARK };
const OTHER = `https://${MARK}.example/api/v3`;

/** Faults of `CONNECTIONS`: a description of the fault, and the value of the variable. */
const FAULTS: readonly [string, object][] = [
  ["a variable CONNECTIONS that is not JSON", { CONNECTIONS: `{"${MARK}` }],
  ["a variable CONNECTIONS that is a list", { CONNECTIONS: `["${MARK}"]` }],
  ["a variable CONNECTIONS that is a number", { CONNECTIONS: 7 }],
  ["a provider connection without provider", connections({ a: { key: MARK } })],
  ["a provider connection of an unknown provider", connections({ a: { ...KEY, provider: MARK } })],
  [
    'a provider connection of the provider "sandbox"',
    connections({ a: { ...KEY, provider: "sandbox" } }),
  ],
  ["a provider connection with an unknown field", connections({ a: { ...KEY, url: MARK } })],
  ["a provider connection with an empty key", connections({ a: { ...KEY, key: "" } })],
  ["a provider connection named like another provider", connections({ kling: KEY })],
  ["a provider connection named like its own provider", connections({ ark: KEY })],
  ['a provider connection named "sandbox"', connections({ sandbox: KEY })],
  ["a name of a provider connection in upper case", connections({ Ark: KEY })],
  ["a name of a provider connection of 33 characters", connections({ ["a".repeat(33)]: KEY })],
];

/** Base URLs to which no credential may be sent; the fuzz test of connections tries many others. */
const HOSTS: readonly [string, string][] = [
  ["a host that only ends like the provider's host", `https://${MARK}ark.cn-beijing.volces.com`],
  ["the host of another provider", "https://api.replicate.com"],
  ["the scheme http:", "http://ark.cn-beijing.volces.com/api/v3"],
  ["a user name", `https://${MARK}@ark.cn-beijing.volces.com/api/v3`],
  ["a query", `https://ark.cn-beijing.volces.com/api/v3?${MARK}`],
  ["the host localhost", "http://localhost:9000"],
];

it.each([
  ...FAULTS,
  ...HOSTS.map(([what, base_url]): [string, object] => [
    `a provider connection whose base_url has ${what}`,
    connections({ a: { ...KEY, base_url } }),
  ]),
  [
    "a provider connection with a jwks_url on another host",
    connections({ a: { provider: "fal", jwks_url: OTHER } }),
  ],
  ["a variable ARK_BASE_URL whose host belongs to no provider", { ARK_BASE_URL: OTHER }],
])(
  "the configuration rejects %s, and its error message does not contain the rejected value",
  (_, vars) => {
    const result = configuredWith(vars);
    expect(result).toMatchObject({ ok: false, error: [{ path: Object.keys(vars)[0] }] });
    expect(JSON.stringify(result)).not.toContain(MARK);
  },
);

it.each([
  ["http://127.0.0.1:9000", "accepted"],
  ["http://localhost:9000/a/b", "accepted"],
  ["http://[::1]:9000", "accepted"],
  ["http://10.0.0.1", "rejected"],
  ["http://192.168.1.1", "rejected"],
  ["https://nas.local", "rejected"],
])(
  "with ALLOW_LOCAL_CALLBACKS=true, the base URL of a provider connection may lead to the relay's own machine, but to no other private host: %s is %s",
  (base_url, verdict) => {
    for (const vars of [{ ARK_BASE_URL: base_url }, connections({ a: { ...KEY, base_url } })]) {
      expect(configuredWith(vars).ok).toBe(false);
      expect(configuredWith({ ...vars, ALLOW_LOCAL_CALLBACKS: "true" }).ok).toBe(
        verdict === "accepted",
      );
    }
  },
);

it.each([
  ["accepts", "https://llm-1.cn-beijing.maas.aliyuncs.com", "this is the host of a workspace"],
  ["accepts", "https://ws-1.ap-southeast-1.maas.aliyuncs.com/", "this is the host of a workspace"],
  ["refuses", "http://llm-1.cn-beijing.maas.aliyuncs.com", "only https: is accepted"],
  ["refuses", "https://cn-beijing.maas.aliyuncs.com", "the host names no workspace"],
  ["refuses", "https://a.llm-1.cn-beijing.maas.aliyuncs.com", "the host has one part too many"],
  ["refuses", "https://llm-1.beijing.maas.aliyuncs.com", "beijing is not the name of a region"],
  [
    "refuses",
    "https://llm-1.cn-beijing.maas.aliyuncs.com.example",
    "the host does not end in maas.aliyuncs.com",
  ],
  [
    "refuses",
    "https://example.net/llm-1.cn-beijing.maas.aliyuncs.com",
    "the host does not end in maas.aliyuncs.com",
  ],
  ["refuses", "https://llm-1.cn-beijing.maas.aliyuncs.com:8443", "no other port is accepted"],
])(
  "a base URL for dashscope must have https:, the host of a workspace and no port: the configuration %s the URL %s, because %s",
  (verb, base_url) => {
    const isAccepted = verb === "accepts";
    const vars = connections({ a: { ...KEY, provider: "dashscope", base_url } });
    expect(configuredWith(vars).ok).toBe(isAccepted);
    expect(configuredWith({ DASHSCOPE_BASE_URL: base_url }).ok).toBe(isAccepted);
    expect(configuredWith(connections({ a: { ...KEY, base_url } })).ok).toBe(false);
  },
);

it.each([
  ["accepts", "https://gw.example.com/v1/acme/ark"],
  ["accepts", "https://GW.example.com:443/"],
  ["accepts", "https://proxy.example.com:8443"],
  ["refuses", "http://gw.example.com"],
  ["refuses", "https://gw.example.com:8443"],
  ["refuses", "https://proxy.example.com"],
  ["refuses", "https://a.gw.example.com"],
  ["refuses", "https://gw.example.com.example"],
  ["refuses", "https://user@gw.example.com"],
  ["refuses", "https://gw.example.com/?a=b"],
  ["refuses", "https://10.0.0.1"],
  ["refuses", "https://relay.example.com"],
])(
  "with EXTRA_BASE_HOSTS set to gw.example.com and proxy.example.com:8443, base URLs with https: may lead there: the configuration %s the base URL %s",
  (verb, base_url) => {
    const isAccepted = verb === "accepts";
    const hosts = "gw.example.com Proxy.example.com:8443 10.0.0.1 relay.example.com";
    const extra = { EXTRA_BASE_HOSTS: hosts, PUBLIC_URL: "https://relay.example.com" };
    for (const vars of [{ ARK_BASE_URL: base_url }, connections({ a: { ...KEY, base_url } })]) {
      expect(configuredWith({ ...vars, ...extra }).ok).toBe(isAccepted);
      expect(configuredWith(vars).ok).toBe(false);
    }
    const jwks = connections({ a: { provider: "fal", jwks_url: base_url } });
    expect(configuredWith({ ...jwks, ...extra }).ok).toBe(false);
  },
);

it("a provider connection may use any base URL that its provider lists, and uses the first of them when its settings name none", () => {
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

it("a provider connection has the limit of polls per minute that its provider documents, unless its polls_per_minute sets another", () => {
  const entries = {
    a: { ...KEY, provider: "dashscope" },
    b: { ...KEY, provider: "dashscope", polls_per_minute: 60 },
    c: KEY,
  };
  const known = connectionsOf(connections(entries));
  const limits = ["a", "b", "c"].map((name) => known.get(name)?.pollsPerMinute);
  expect(limits).toEqual([1_200, 60, null]);
});

it.each([
  [{ CONNECTIONS_2: {} }, "CONNECTIONS_2", "needs CONNECTIONS before it"],
  [{ CONNECTIONS: "", CONNECTIONS_2: {} }, "CONNECTIONS_2", "needs CONNECTIONS before it"],
  [{ CONNECTIONS: {}, CONNECTIONS_3: {} }, "CONNECTIONS_3", "needs CONNECTIONS_2 before it"],
  [{ CONNECTIONS: {}, CONNECTIONS_1: {} }, "CONNECTIONS_1", "must be called CONNECTIONS"],
  [{ CONNECTIONS: {}, CONNECTIONS_EU: {} }, "CONNECTIONS_EU", "must be called CONNECTIONS"],
  [{ CONNECTIONS: {}, CONNECTIONS_2: MARK }, "CONNECTIONS_2", "must be JSON like"],
  [
    { CONNECTIONS: { a: KEY }, CONNECTIONS_2: { a: KEY } },
    "CONNECTIONS_2",
    "which CONNECTIONS defines already",
  ],
  [{ CONNECTIONS: `{"__proto__":{"key":"${MARK}"}}` }, "CONNECTIONS", "(see __proto__)"],
  [{ CONNECTIONS: { a: { ...KEY, base_url: MARK.length } } }, "CONNECTIONS", "(see a.base_url)"],
  [
    { CONNECTIONS: { a: { ...KEY, in_fligth: MARK } } },
    "CONNECTIONS",
    "has an unknown member at a.in_fligth",
  ],
  [
    { CONNECTIONS: `{"a":{"__proto__":{"key":"${MARK}"}}}` },
    "CONNECTIONS",
    "has an unknown member at a.__proto__",
  ],
  [{ CONNECTIONS: {}, CONNECTIONS_2: { ark: KEY } }, "CONNECTIONS_2", "the name of a provider"],
  [{ CONNECTIONS: {}, CONNECTIONS_2: { a: { ...KEY, key: "ü" } } }, "CONNECTIONS_2", "printable"],
])(
  'the configuration rejects a gap, a wrong name or a bad entry in CONNECTIONS, CONNECTIONS_2 and so on: %j gives an error at the variable %s with the text "%s"',
  (vars, path, message) => {
    const result = configuredWith(vars);
    const error = [{ path, message: expect.stringContaining(message) }];
    expect(result).toEqual({ ok: false, error });
    expect(JSON.stringify(result)).not.toContain(MARK);
  },
);

it("the provider connections in the variables CONNECTIONS, CONNECTIONS_2 and so on all take effect, in whatever order the variables come", () => {
  const names = ["_10", "_9", "_8", "_7", "_6", "_5", "_4", "_3", "_2", ""];
  const parts = names.map((name) => [
    `CONNECTIONS${name}`,
    JSON.stringify({ [`a${name.slice(1)}`]: KEY }),
  ]);
  const known = connectionsOf({ ...Object.fromEntries(parts), CONNECTIONS_11: "" });
  const added = [...known.keys()].filter((name) => !PROVIDERS.has(name));
  expect(added.toSorted()).toEqual(names.map((name) => `a${name.slice(1)}`).toSorted());
});

it("when the configuration defines no connections, each provider with a base URL of its own has one, named like the provider and without an API key", () => {
  const known = connectionsOf({ CONNECTIONS: "" });
  const hosted = [...PROVIDERS.values()].filter(({ baseUrls }) => baseUrls !== null);
  expect(Array.from(known, ([name, { key }]) => [name, key])).toEqual(
    hosted.map(({ name }) => [name, null]),
  );
  expect(configuredWith({})).toMatchObject({ value: { polls: new Map() } });
});

it("the configuration accepts in LOCATION_HINT every location hint that Cloudflare documents for Durable Objects", () => {
  const hints = ["wnam", "enam", "sam", "weur", "eeur", "apac", "apac-ne", "apac-se", "oc"];
  for (const LOCATION_HINT of [...hints, "afr", "me"]) {
    const result = configuredWith({ LOCATION_HINT });
    expect([LOCATION_HINT, result.ok]).toEqual([LOCATION_HINT, true]);
  }
});
