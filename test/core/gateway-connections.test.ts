import { expect, it } from "vitest";
import { configuredWith, connections, connectionsOf, MARK } from "./configuration.ts";

const GATEWAY = { provider: "newapi", key: MARK };

it.each([
  ["is missing", null, "must have a base_url in gw, because newapi has no host of its own"],
  ["begins with http:", "http://gateway.example.com", "must use https: as the base_url of gw"],
  ["has a user name", `https://${MARK}@gateway.example.com`, "user name"],
  ["has a query", `https://gateway.example.com/?${MARK}`, "query"],
  ["has a fragment", "https://gateway.example.com/#", "fragment"],
  ["has a private IP address", "https://10.0.0.1", "not public"],
  ["has a public IP address", "https://1.1.1.1", "must use a host name"],
  ["has a local host name", `https://${MARK}.internal`, "private host name"],
  ["names localhost", "http://localhost:3000", "must use https:"],
  ["names the relay itself", "https://relay.example.com/v1", "relay itself"],
  ["ends in /v1/", "https://gateway.example.com/api/v1/", "must not end in /v1"],
  ["is no URL", MARK, "valid absolute URL"],
])(
  "the configuration rejects a connection to a gateway (a provider without a host of its own) whose base_url %s, in an error that does not contain the value",
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
  ["https://gateway.example.com", {}, "accepted", "https://gateway.example.com"],
  [
    "https://gateway.example.com:8443/api/",
    {},
    "accepted without its last slash",
    "https://gateway.example.com:8443/api",
  ],
  ["https://1.1.1.1", { ALLOW_IP_CALLBACKS: "true" }, "accepted", "https://1.1.1.1"],
  ["http://127.0.0.1:3000", { ALLOW_LOCAL_CALLBACKS: "true" }, "accepted", "http://127.0.0.1:3000"],
  ["http://gateway.example.com", { ALLOW_LOCAL_CALLBACKS: "true" }, "refused", undefined],
])(
  "a gateway's base_url must have https: and a host name unless ALLOW_IP_CALLBACKS or ALLOW_LOCAL_CALLBACKS permits others: %s with %j is %s",
  (base_url, settings, _, expected) => {
    const vars = connections({ gw: { ...GATEWAY, base_url } });
    const result = configuredWith({ ...vars, ...settings });
    expect(result.ok ? result.value.connections.get("gw")?.baseUrl : undefined).toBe(expected);
  },
);

it("the configuration rejects a connection to a gateway (a provider without a host of its own) that has a jwks_url", () => {
  const entry = {
    ...GATEWAY,
    base_url: "https://gateway.example.com",
    jwks_url: `https://${MARK}.example.com`,
  };
  const error = [{ path: "CONNECTIONS", message: "must not have a jwks_url in gw" }];
  expect(configuredWith(connections({ gw: entry }))).toEqual({ ok: false, error });
});

it("the gateway new-api has a connection without an entry in CONNECTIONS only if NEWAPI_BASE_URL is set; polls of its jobs never wait for a hook", () => {
  const [key, url] = [{ NEWAPI_API_KEY: "k" }, { NEWAPI_BASE_URL: "https://gateway.example.com" }];
  expect(connectionsOf(key).has("newapi")).toBe(false);
  expect(connectionsOf(url).get("newapi")?.key).toBeNull();
  const gw = { ...GATEWAY, base_url: "https://gateway.example.com", webhook_secret: MARK };
  const result = configuredWith({ ...key, ...url, ...connections({ gw }) });
  for (const name of ["newapi", "gw"]) {
    expect(result.ok && result.value.polls.get(name)?.hookWaitMs).toBeNull();
  }
});
