import { expect, it } from "vitest";
import { configuredWith, connections, connectionsOf, MARK } from "./configuration.ts";

const GATEWAY = { provider: "newapi", key: MARK };

it.each([
  ["no base_url", null, "must have a base_url in gw, because newapi has no host of its own"],
  ["http", "http://gateway.example.com", "must use https: as the base_url of gw"],
  ["a user name", `https://${MARK}@gateway.example.com`, "user name"],
  ["a query", `https://gateway.example.com/?${MARK}`, "query"],
  ["a fragment", "https://gateway.example.com/#", "fragment"],
  ["a private IP address", "https://10.0.0.1", "not public"],
  ["a public IP address", "https://1.1.1.1", "must use a host name"],
  ["a local name", `https://${MARK}.internal`, "private host name"],
  ["localhost", "http://localhost:3000", "must use https:"],
  ["the host of the relay", "https://relay.example.com/v1", "relay itself"],
  ["a final /v1", "https://gateway.example.com/api/v1/", "must not end in /v1"],
  ["no URL", MARK, "valid absolute URL"],
])(
  "a connection to a gateway with %s as base_url is rejected, and the message does not contain the value",
  (_, base_url, message) => {
    const settings = [connections({ gw: { ...GATEWAY, base_url } })];
    if (base_url !== null) settings.push({ NEWAPI_API_KEY: MARK, NEWAPI_BASE_URL: base_url });
    for (const vars of settings) {
      const result = configuredWith({ ...vars, PUBLIC_URL: "https://relay.example.com" });
      const path = Object.keys(vars).at(-1);
      const reason = "CONNECTIONS" in vars ? message : message.replace(/ gw$/, " newapi");
      expect(result).toEqual({
        ok: false,
        error: [{ path, message: expect.stringContaining(reason) }],
      });
      expect(JSON.stringify(result)).not.toContain(MARK);
    }
  },
);

it.each([
  ["https://gateway.example.com", {}, "https://gateway.example.com"],
  ["https://gateway.example.com:8443/api/", {}, "https://gateway.example.com:8443/api"],
  ["https://1.1.1.1", { ALLOW_IP_CALLBACKS: "true" }, "https://1.1.1.1"],
  ["http://127.0.0.1:3000", { ALLOW_LOCAL_CALLBACKS: "true" }, "http://127.0.0.1:3000"],
  ["http://gateway.example.com", { ALLOW_LOCAL_CALLBACKS: "true" }, undefined],
])(
  "the base URL %s of a gateway with the settings %j becomes the base URL %s of its connection",
  (base_url, settings, expected) => {
    const vars = connections({ gw: { ...GATEWAY, base_url } });
    const result = configuredWith({ ...vars, ...settings });
    expect(result.ok ? result.value.connections.get("gw")?.baseUrl : undefined).toBe(expected);
  },
);

it("a connection to a gateway must not have a jwks_url", () => {
  const entry = {
    ...GATEWAY,
    base_url: "https://gateway.example.com",
    jwks_url: `https://${MARK}.example.com`,
  };
  const error = [{ path: "CONNECTIONS", message: "must not have a jwks_url in gw" }];
  expect(configuredWith(connections({ gw: entry }))).toEqual({ ok: false, error });
});

it("the default connection to a gateway exists only when both its key and its base URL are set, and polls of new-api wait for no hook, not even with a webhook secret", () => {
  const [key, url] = [{ NEWAPI_API_KEY: "k" }, { NEWAPI_BASE_URL: "https://gateway.example.com" }];
  expect(connectionsOf(key).has("newapi")).toBe(false);
  expect(connectionsOf(url).has("newapi")).toBe(false);
  const gw = { ...GATEWAY, base_url: "https://gateway.example.com", webhook_secret: MARK };
  const result = configuredWith({ ...key, ...url, ...connections({ gw }) });
  for (const name of ["newapi", "gw"]) {
    expect(result.ok && result.value.polls.get(name)?.hookWaitMs).toBeNull();
  }
});
