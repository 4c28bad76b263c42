import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith, type Message } from "../client.ts";
import { ARK_PATH, BINDINGS, MODEL } from "../submitted.ts";

const REVISION = "2026-07-28";
const LEGACY_REVISION = "2025-06-18";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const ACCEPT = "application/json, text/event-stream";

export const IDEMPOTENCY_KEY = "task-relay/idempotency-key";
export const PRICE = 60;
/** Offers with a tool at Ark, whose upstream is replaced, and one of the sandbox, which needs none. */
const OFFERS = [
  {
    connection: "ark",
    path: ARK_PATH,
    models: [MODEL],
    limits: { "/duration": { max: 10 } },
    price: { credits: PRICE },
    body: {
      type: "object",
      title: "Seedance",
      description: "Generates a video.",
      properties: {
        content: {
          type: "array",
          minItems: 1,
          items: {
            type: "object",
            properties: { type: { type: "string", enum: ["text"] }, text: { type: "string" } },
            required: ["type", "text"],
          },
        },
        duration: { type: "integer", minimum: 1, maximum: 10, default: 5 },
      },
      required: ["content"],
    },
  },
  {
    connection: "sandbox",
    path: "/jobs",
    models: ["sandbox/ok"],
    tool: "try",
    body: { type: "object", properties: { prompt: { type: "string", maxLength: 20 } } },
  },
  {
    connection: "sandbox",
    path: "/jobs",
    models: ["sandbox/moderated"],
    body: { type: "object" },
  },
  { connection: "sandbox", path: "/jobs", models: ["sandbox/slow"], body: { type: "object" } },
  { connection: "fal", models: ["*"] },
];
export const ARK_TOOL = "doubao-seedance-2-0-260128";
export const CONTENT = [{ type: "text", text: "a fox" }];
export const OFFERED = { ...env, ...BINDINGS, OFFERS: JSON.stringify(OFFERS) };

const RpcAnswer = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.int(), z.null()]),
  result: z.optional(z.looseObject({})),
  error: z.optional(
    z.object({ code: z.int(), message: z.string(), data: z.optional(z.looseObject({})) }),
  ),
});

export interface Asking extends Pick<Message, "key" | "headers"> {
  readonly bindings?: object;
  /** Whether the client understands tasks; true by default. */
  readonly hasTasks?: boolean;
  /** More members of `_meta`. */
  readonly meta?: object;
}

/** Sends one message to `/mcp` as a client of the revision 2026-07-28 does. */
export async function ask(method: string, params: object = {}, asking: Asking = {}) {
  const { bindings = OFFERED, hasTasks = true, meta, headers, ...message } = asking;
  const { name, taskId }: { readonly name?: string; readonly taskId?: string } = params;
  const named = name ?? taskId;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": hasTasks ? TASKS : {},
    ...meta,
  };
  const response = await callWith(bindings, "/mcp", {
    ...message,
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    headers: {
      Accept: ACCEPT,
      "Content-Type": "application/json",
      "MCP-Protocol-Version": REVISION,
      "Mcp-Method": method,
      ...(named !== undefined && { "Mcp-Name": named }),
      ...headers,
    },
  });
  return { status: response.status, ...RpcAnswer.parse(await response.json()) };
}

/** Sends one message to `/mcp` as a client of an earlier revision does, which gets a stream with one event. */
export async function askAsBefore(method: string, params: object = {}, asking: Asking = {}) {
  const { bindings = OFFERED, headers, ...message } = asking;
  const response = await callWith(bindings, "/mcp", {
    ...message,
    body: { jsonrpc: "2.0", id: 1, method, params },
    headers: {
      Accept: ACCEPT,
      "Content-Type": "application/json",
      "MCP-Protocol-Version": LEGACY_REVISION,
      ...headers,
    },
  });
  const [, data = ""] = /^data: (.*)$/m.exec(await response.text()) ?? [];
  return { status: response.status, ...RpcAnswer.parse(JSON.parse(data)) };
}

/** Calls a tool, and returns its result. */
export async function callTool(name: string, given: object = {}, asking: Asking = {}) {
  return ToolResult.parse((await ask("tools/call", { name, arguments: given }, asking)).result);
}

export const ToolResult = z.looseObject({
  resultType: z.string(),
  isError: z.boolean().optional(),
  content: z.array(
    z.looseObject({ type: z.string(), text: z.string().optional(), uri: z.string().optional() }),
  ),
  structuredContent: z.looseObject({}).optional(),
});

export const textOf = ({ content }: z.output<typeof ToolResult>) => content[0]?.text ?? "";
