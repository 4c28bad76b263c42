import { expect, it } from "vitest";
import { callWith, type Message, ORIGIN, ProblemBody } from "../client.ts";
import { loggedBy } from "../logged.ts";
import { anArk, ARK } from "../submitted.ts";
import { ARK_TOOL, ask, askAsBefore, CONTENT, OFFERED } from "./messages.ts";

const JSON_HEADERS = {
  Accept: "application/json, text/event-stream",
  "Content-Type": "application/json",
};
const CALL = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: ARK_TOOL, arguments: { content: CONTENT } },
};

function sent(message: Message): Promise<Response> {
  const headers = { ...JSON_HEADERS, ...message.headers };
  return callWith(OFFERED, "/mcp", { ...message, headers });
}

it("an MCP client of the protocol revision 2026-07-28 learns from server/discover that the relay has tools and tasks", async () => {
  expect(await ask("server/discover")).toMatchObject({
    status: 200,
    result: {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
      instructions: expect.stringContaining("job"),
    },
  });
});

it("an MCP client of an earlier revision gets a response to initialize in its own revision, without tasks", async () => {
  const { result } = await askAsBefore("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  expect(result).toMatchObject({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "task-relay" },
  });
  expect(result).not.toHaveProperty("capabilities.extensions");
});

it.each<[string, Message, number, object]>([
  [
    "a body that is not JSON",
    { body: "{" },
    400,
    { code: -32_700, data: { code: "invalid_json" } },
  ],
  ["an empty body", { body: "" }, 400, { code: -32_700 }],
  ["bytes that are not UTF-8", { body: new Uint8Array([0xff]) }, 400, { code: -32_700 }],
  [
    "a list of messages",
    { body: [CALL, CALL] },
    400,
    { code: -32_600, message: expect.any(String) },
  ],
  [
    "a body beyond MAX_BODY_KB",
    { body: `"${"x".repeat(300_000)}"` },
    413,
    { code: -32_600, data: { code: "payload_too_large" } },
  ],
  [
    "a body that is nested too deep",
    { body: `${"[".repeat(100)}${"]".repeat(100)}` },
    400,
    { code: -32_600 },
  ],
  ["a text", { body: '"tools/call"' }, 400, {}],
  ["an object that is no message", { body: { jsonrpc: "1.0", method: 1 } }, 400, {}],
  [
    "an Accept header without event streams, of an earlier revision",
    { body: CALL, headers: { Accept: "application/json" } },
    406,
    {},
  ],
  [
    "a revision that does not exist",
    { body: CALL, headers: { "MCP-Protocol-Version": "1999-01-01" } },
    400,
    {},
  ],
])(
  "a request to POST /mcp with %s gets an error of the MCP protocol, and nothing is submitted",
  async (_, message, status, error) => {
    const outside = anArk();
    const response = await sent(message);
    expect(response.status).toBe(status);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: expect.any(Number), message: expect.any(String), ...error },
    });
    expect(outside.sentTo(ARK)).toEqual([]);
  },
);

it.each([
  ["names another revision than its header", { "MCP-Protocol-Version": "2025-06-18" }],
  ["names another method than its header", { "Mcp-Method": "tools/list" }],
  ["names another tool than its header", { "Mcp-Name": "read_task" }],
])("a call of an MCP tool that %s is refused, and nothing is submitted", async (_, headers) => {
  const outside = anArk();
  const params = { name: ARK_TOOL, arguments: { content: CONTENT } };
  expect(await ask("tools/call", params, { headers })).toMatchObject({
    status: 400,
    error: { code: -32_020 },
  });
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("an MCP request for an unknown tool, or with an unknown method, gets an error of the MCP protocol", async () => {
  expect(await ask("tools/call", { name: "unknown" })).toMatchObject({
    status: 200,
    error: { code: -32_602, message: 'There is no tool "unknown".' },
  });
  expect(await ask("resources/list")).toMatchObject({ status: 404, error: { code: -32_601 } });
});

it.each([
  ["as curl sends it", { Accept: "*/*", "Content-Type": "application/x-www-form-urlencoded" }],
  ["with any other type", { Accept: "text/html, */*;q=0.8", "Content-Type": "text/plain" }],
])(
  "POST /mcp reads its body as JSON whatever its Content-Type is, as all routes do: %s",
  async (_, headers) => {
    const response = await sent({ body: { jsonrpc: "2.0", id: 1, method: "tools/list" }, headers });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"read_task"');
  },
);

const PAGE = { Origin: "https://inspector.example.net" };

it("a page of another site may send MCP messages with any header, because the preflight request is answered with 204, even without a key", async () => {
  const asked = {
    ...PAGE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,mcp-protocol-version",
  };
  const response = await callWith(OFFERED, "/mcp", {
    method: "OPTIONS",
    key: null,
    headers: asked,
  });
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "Authorization, *",
    "access-control-max-age": "7200",
  });
  expect(response.headers.get("Access-Control-Allow-Credentials")).toBeNull();
});

it.each<[string, Message, number]>([
  ["an answer", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } }, 200],
  ["the 202 to a notification", { body: { jsonrpc: "2.0", method: "notifications/x" } }, 202],
  ["an error of the protocol", { body: "{" }, 400],
  ["the refusal of an unknown key", { body: CALL, key: "test-only-unknown-key" }, 401],
  ["the refusal of a message without a key", { body: CALL, key: null }, 401],
  ["the refusal of a GET, by which clients ask for a stream", { method: "GET" }, 405],
])(
  "the CORS headers of responses of /mcp let a page of another site read %s",
  async (_, message, status) => {
    const response = await sent({ ...message, headers: PAGE });
    expect(response.status).toBe(status);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    if (status === 405) return;
    const exposed = "Retry-After, WWW-Authenticate, X-Request-Id";
    expect(response.headers.get("Access-Control-Expose-Headers")).toBe(exposed);
  },
);

it("a POST /mcp with an MCP notification gets 202 without a body", async () => {
  const body = { jsonrpc: "2.0", method: "notifications/initialized" };
  const response = await sent({ body });
  expect([response.status, await response.text()]).toEqual([202, ""]);
});

it.each(["GET", "DELETE", "PUT"])(
  "%s /mcp is answered with 405, because the relay keeps no MCP sessions and opens no streams of its own",
  async (method) => {
    const response = await callWith(OFFERED, "/mcp", { method });
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "POST, OPTIONS"]);
    expect(ProblemBody.parse(await response.json()).code).toBe("method_not_allowed");
  },
);

it("an MCP subscription ends at once, because the relay sends no notifications", async () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
  };
  const params = { notifications: { taskIds: [crypto.randomUUID()] }, _meta: meta };
  const response = await sent({
    body: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
    headers: { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen" },
  });
  expect(response.headers.get("Content-Type")).toBe("text/event-stream");
  expect(await response.text()).not.toContain("taskIds");
});

it("the log names a refused call of an MCP tool by the API route that does the same, and contains none of the call's arguments", async () => {
  anArk();
  const lines = await loggedBy(() =>
    ask("tools/call", { name: "read_task", arguments: { id: "secret-id" } }),
  );
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: "request.refused",
      via: "mcp",
      method: "GET",
      path: "/v1/tasks/{id}",
      code: "unknown_task",
    }),
  );
  expect(JSON.stringify(lines)).not.toContain("secret-id");
});

it("in the error that an MCP tool returns, the link to the documentation of the error begins with the address of the relay", async () => {
  const { result } = await ask("tools/call", { name: "read_task", arguments: {} });
  expect(result).toMatchObject({
    structuredContent: { type: `${ORIGIN}/docs/errors#invalid_request` },
  });
});
