import { expect, it } from "vitest";
import { DECLARATIONS } from "./declarations.ts";
import { configuredWith, connections, MARK } from "../core/configuration.ts";

const runpod = { ...DECLARATIONS.runpod, key: "k" };
const ARK = { provider: "ark", key: "k" };

/** Returns the configuration, which must be valid. */
function valid(vars: object) {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** Returns the places at which a declared connection is at fault; none when it is not disabled. */
function faultsOf(entry: unknown, vars: object = {}): readonly string[] {
  const config = valid({ ...connections({ gpu: entry, "ark-2": ARK }), ...vars });
  expect(config.connections.has("ark-2")).toBe(true);
  expect(config.connections.has("gpu")).toBe(config.disabledConnections.length === 0);
  return config.disabledConnections.flatMap(({ name, provider, issues }) => {
    expect([name, provider]).toEqual(["gpu", "generic"]);
    for (const { message } of issues) expect(message).not.toContain(MARK);
    return issues.map(({ path }) => path);
  });
}

it("a connection in CONNECTIONS with a declaration of its upstream has the name, base URL, key and polls_per_minute of its entry", () => {
  const entry = { ...runpod, key: "k", polls_per_minute: 60, base_url: "https://a.example/v2/x/" };
  expect(valid(connections({ gpu: entry })).connections.get("gpu")).toMatchObject({
    name: "gpu",
    baseUrl: "https://a.example/v2/x",
    key: "k",
    pollsPerMinute: 60,
    provider: { name: "generic" },
  });
});

it("a faulty declaration of an upstream disables only its own connection, and the message says where each fault is", () => {
  expect(faultsOf(runpod)).toEqual([]);
  const poll = { ...runpod.poll, state: MARK };
  expect(faultsOf({ ...runpod, poll, retries: 3 }).toSorted()).toEqual([
    "CONNECTIONS.gpu.poll.state",
    "CONNECTIONS.gpu.retries",
  ]);
  expect(faultsOf({ provider: "generic" })).toEqual([
    "CONNECTIONS.gpu.base_url",
    "CONNECTIONS.gpu.submit",
    "CONNECTIONS.gpu.poll",
  ]);
  expect(faultsOf({ ...runpod, key: `${MARK} ü` })).toEqual(["CONNECTIONS.gpu.key"]);
});

it("a fault in a declaration is reported with the name of its variable, such as CONNECTIONS_2, and an entry with an unknown provider makes the whole configuration invalid", () => {
  const second = { CONNECTIONS_2: JSON.stringify({ gpu: { ...runpod, submit: {} } }) };
  const config = valid({ ...connections({ "ark-2": ARK }), ...second });
  expect(config.disabledConnections[0]?.issues.map(({ path }) => path)).toEqual([
    "CONNECTIONS_2.gpu.submit.path",
    "CONNECTIONS_2.gpu.submit.id",
  ]);
  const unknown = configuredWith(connections({ gpu: runpod, a: { provider: "nobody" } }));
  expect(unknown).toMatchObject({ ok: false, error: [{ path: "CONNECTIONS" }] });
});

it("a declaration of an upstream that has one member twice disables its connection, because reading the JSON would keep only the last", () => {
  const text = JSON.stringify({ gpu: runpod });
  const twice = text.replace('"words":{', '"words":{"FAILED":"completed",');
  const config = valid({ CONNECTIONS: twice });
  expect(config.disabledConnections).toMatchObject([
    { name: "gpu", issues: [{ path: "CONNECTIONS.gpu.words.FAILED" }] },
  ]);
});

it.each<[string, object, boolean]>([
  ["https://gpu.example.com", {}, true],
  ["https://gpu.example.com/v1", {}, true],
  ["http://gpu.example.com", {}, false],
  ["https://10.0.0.5", {}, false],
  ["https://gpu.internal", {}, false],
  ["http://127.0.0.1:8188", {}, false],
  ["http://127.0.0.1:8188", { ALLOW_LOCAL_CALLBACKS: "true" }, true],
  ["http://10.0.0.5:8188", { ALLOW_LOCAL_CALLBACKS: "true" }, false],
  ["http://10.0.0.5:8188", { EXTRA_BASE_HOSTS: "10.0.0.5:8188" }, true],
  ["https://gpu.internal", { EXTRA_BASE_HOSTS: "gpu.internal" }, true],
  ["http://10.0.0.5:9999", { EXTRA_BASE_HOSTS: "10.0.0.5:8188" }, false],
  ["https://user@gpu.internal", { EXTRA_BASE_HOSTS: "gpu.internal" }, false],
  ["https://gpu.example.com?a=b", {}, false],
  ["not a url", {}, false],
])(
  "a connection with a declaration of its upstream may have the base URL %s under the settings %j: %s",
  (base_url, vars, isAllowed) => {
    expect(faultsOf({ ...runpod, base_url }, vars)).toEqual(
      isAllowed ? [] : ["CONNECTIONS.gpu.base_url"],
    );
  },
);

it("a connection without a key is polled only if the declaration of its upstream says that no key is needed", () => {
  const { key: _key, auth: _auth, ...open } = runpod;
  expect([...valid(connections({ gpu: open })).polls.keys()]).toEqual(["gpu"]);
  const { key: _, ...keyless } = runpod;
  expect([...valid(connections({ gpu: keyless })).polls.keys()]).toEqual([]);
});

it("a connection with a declaration of its upstream is disabled when it has the name of a provider that is built into the relay", () => {
  for (const name of ["ark", "sandbox", "generic"]) {
    const config = valid(connections({ [name]: runpod }));
    expect(config.disabledConnections.map((each) => each.name)).toEqual([name]);
    expect(config.connections.get(name)?.provider.name).not.toBe("generic");
  }
});

it("an offer that names a disabled connection does not make the configuration invalid", () => {
  const OFFERS = JSON.stringify([{ connection: "gpu", models: ["*"] }]);
  expect(faultsOf({ ...runpod, poll: null }, { OFFERS })).toEqual(["CONNECTIONS.gpu.poll"]);
  expect(configuredWith({ OFFERS })).toMatchObject({ ok: false, error: [{ path: "OFFERS" }] });
});
