import * as z from "zod/mini";
import {
  type Answer,
  emptyAnswer,
  jsonAnswer,
  type RouteDescription,
} from "../http/route.openapi.ts";
import { AnyObject, named } from "../shapes/described.ts";

const HEAD = { jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number(), z.null()]) };
const McpError = named(
  "McpError",
  z.strictObject({
    ...HEAD,
    error: z.strictObject({
      code: z.int(),
      message: z.string(),
      data: z.optional(z.unknown()),
    }),
  }),
  "An error of JSON-RPC. `data` has the members of the problem, where the relay has found it.",
);
const McpAnswer = named(
  "McpAnswer",
  z.union([z.strictObject({ ...HEAD, result: AnyObject }), McpError]),
  "An answer of JSON-RPC.",
);

const OPEN = { "Access-Control-Allow-Origin": "always" } as const;
const RESULT = { resultType: "complete", tools: [] };

function error(description: string, code: number, message: string): Answer {
  const example = { jsonrpc: "2.0" as const, id: null, error: { code, message } };
  return jsonAnswer(description, McpError, example, OPEN);
}

export const callToolsDescription = {
  audience: "client",
  summary: "Call the tools of the relay by the Model Context Protocol",
  details:
    "Streamable HTTP without sessions: each request has one message of JSON-RPC. The revision 2026-07-28 with the extension `io.modelcontextprotocol/tasks`, and those before without it. Pages of any site may send them (CORS).",
  request: {
    example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    passedBody: "A message of JSON-RPC. Lists of messages are refused.",
  },
  answers: {
    200: {
      description: "the result, or an error of the method",
      content: {
        "application/json": {
          schema: McpAnswer,
          example: { jsonrpc: "2.0", id: 1, result: RESULT },
        },
        "text/event-stream": {
          schema: z.string(),
          example: `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: RESULT })}\n\n`,
        },
      },
      headers: OPEN,
    },
    202: emptyAnswer("the message is a notification, which has no answer", OPEN),
    400: error("the message is not valid, or its revision is not known", -32_600, "Bad Request"),
    404: error("there is no such method", -32_601, "Method not found"),
    406: error("the client accepts no answer that there is", -32_000, "Not Acceptable"),
    408: error("the message does not arrive in time", -32_600, "The body has not arrived."),
    413: error("the message is too large", -32_600, "A body may have at most 262144 bytes."),
  },
  problems: [],
} satisfies RouteDescription;
