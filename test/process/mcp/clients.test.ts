import { createMCPClient } from "@ai-sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type RawClientDispatch,
  resultFromTaskOutcome,
} from "@modelcontextprotocol/ext-tasks/client";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { startRelay } from "../harness/relay.ts";

const REVISION = "2026-07-28";
const OUTPUT = "https://example.com/sandbox.mp4";
const INFO = { name: "process-test", version: "1.0.0" };
const BODY = {
  type: "object",
  description: "Generates a video.",
  properties: { prompt: { type: "string" } },
  required: ["prompt"],
};
const OFFERS = [
  { connection: "sandbox", path: "/jobs", models: ["sandbox/ok"], tool: "video", body: BODY },
  { connection: "sandbox", path: "/jobs", models: ["sandbox/slow"], tool: "slow", body: BODY },
];

const relay = await forThisFile(
  startRelay({ vars: { ...LOCAL_VARS, SANDBOX: "true", OFFERS: JSON.stringify(OFFERS) } }),
);
const url = `${relay.url}/mcp`;
const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };

const Started = z.object({
  structuredContent: z.object({ task: z.object({ id: z.string() }), status_url: z.url() }),
});
const Read = z.object({
  structuredContent: z.object({
    status: z.string(),
    output: z.object({ urls: z.array(z.string()) }),
  }),
});

/** Connects the client of the SDK of MCP, in the present revision or as clients before it. */
async function connected(mode: "modern" | "legacy"): Promise<Client> {
  const pinned = mode === "modern" ? { pin: REVISION } : "legacy";
  const client = new Client(INFO, { versionNegotiation: { mode: pinned } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

it.each(["modern", "legacy"] as const)(
  "@modelcontextprotocol/client in its mode %s submits a job to the sandbox through the MCP tool of the job's model, and reads the output with read_task",
  async (mode) => {
    const client = await connected(mode);
    expect(client.getProtocolEra()).toBe(mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "video",
      "slow",
      "read_task",
      "list_tasks",
      "cancel_task",
    ]);
    const call = { name: "video", arguments: { prompt: "a fox" } };
    const { structuredContent } = Started.parse(await client.callTool(call));
    const { id } = structuredContent.task;
    const read = await client.callTool({ name: "read_task", arguments: { id, wait: 30 } });
    expect(Read.parse(read).structuredContent).toEqual({
      status: "completed",
      output: { urls: [OUTPUT] },
    });
    const linked = await fetch(structuredContent.status_url);
    expect(await linked.json()).toMatchObject({ id, status: "completed" });
    await client.close();
  },
);

/** Sends a message as it is: the client of the SDK itself takes no tasks as answers to calls of tools. */
const dispatch: RawClientDispatch = async (request, { signal } = {}) => {
  const Message = z.looseObject({ method: z.string(), params: z.looseObject({}) });
  const { method, params } = Message.parse(request);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      Accept: "application/json, text/event-stream",
      "Content-Type": "application/json",
      "MCP-Protocol-Version": REVISION,
      "Mcp-Method": method,
      "Mcp-Name": String(params["name"] ?? params["taskId"]),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    ...(signal !== undefined && { signal }),
  });
  const Answer = z.union([
    z.object({ result: z.json() }),
    z.object({ error: z.object({ code: z.int(), message: z.string() }) }),
  ]);
  const answer = Answer.parse(await response.json());
  return "result" in answer
    ? { kind: "result", result: answer.result }
    : { kind: "error", error: answer.error };
};

async function aTaskSession() {
  const client = await connected("modern");
  return createTaskSessionFromClient(client, {
    endpointId: "relay",
    rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: REVISION, clientInfo: INFO, clientCapabilities: {} },
  });
}

it("@modelcontextprotocol/ext-tasks submits a sandbox job through its MCP tool, follows the MCP task, and gets the output as the result of the call", async () => {
  const session = await aTaskSession();
  const execution = await session.callTool("video", { prompt: "a fox" });
  const states: string[] = [];
  const { outcome } = await execution.settle({
    onEvent: (event) => {
      if (event.type === "task") states.push(event.task.status);
    },
  });
  expect(resultFromTaskOutcome(outcome)).toMatchObject({
    structuredContent: { status: "completed", output: { urls: [OUTPUT] } },
    content: [{ type: "text" }, { type: "resource_link", uri: OUTPUT }],
  });
  expect([states[0], states.at(-1)]).toEqual(["working", "completed"]);
  await session.close();
});

it("@modelcontextprotocol/ext-tasks cancels the MCP task of a sandbox job", async () => {
  const session = await aTaskSession();
  const execution = await session.callTool("slow", { prompt: "a fox" });
  await execution.cancel();
  expect((await execution.settle()).outcome.status).toBe("cancelled");
  await session.close();
});

it("@ai-sdk/mcp submits a job to the sandbox through the MCP tool of the job's model, and reads the output with read_task", async () => {
  const client = await createMCPClient({ transport: { type: "http", url, headers } });
  const tools = await client.tools();
  const options = { toolCallId: "1", messages: [], context: {} };
  const started = Started.parse(await tools["video"]?.execute({ prompt: "a fox" }, options));
  const { id } = started.structuredContent.task;
  const read = await tools["read_task"]?.execute({ id, wait: 30 }, options);
  expect(Read.parse(read).structuredContent.output.urls).toEqual([OUTPUT]);
  const refused = await tools["video"]?.execute({}, options);
  expect(refused).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("/prompt is required") }],
  });
  await client.close();
});
