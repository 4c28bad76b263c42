import type { CallToolResult, Tool as ToolDefinition } from "@modelcontextprotocol/server";
import type { TaskReply } from "../../objects/task/reply.ts";
import type { Caller } from "../../objects/task/caller.ts";
import type { Context } from "../operation.ts";
import type { ProtectedRoute } from "../http/route.ts";
import type { JsonSchema } from "../offers/offer-schema.ts";

/**
 * A tool that MCP clients can call: an operation of the relay with its description for models. The relay's own tools
 * are in task-tools.ts, those of offers in offer-tool.ts.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /**
   * Route of the same operation. A caller sees the tool only if it may use this route, and the log names refused calls
   * of the tool by the route.
   */
  readonly route: Pick<ProtectedRoute, "access" | "method" | "path">;
  /**
   * Performs the operation.
   * @throws Problem when the operation refuses the call.
   */
  readonly perform: (call: ToolCall) => Promise<ToolOutcome>;
}

export interface ToolCall {
  readonly caller: Caller;
  readonly context: Context;
  /** Arguments of the call as the client has sent them, before any check. */
  readonly given: unknown;
  /** Key under which a repeated call submits no second job. Null when the client has given none. */
  readonly idempotencyKey: string | null;
}

export type ToolOutcome =
  | { readonly kind: "result"; readonly result: CallToolResult }
  | StartedTask;

/** A task that the call of a tool has started. */
export interface StartedTask {
  readonly kind: "started";
  readonly task: TaskReply;
  /** Status link of the task. Null when it could not be made. */
  readonly statusUrl: string | null;
  /** Sentence for the model about how the task was started. */
  readonly note: string;
}

/**
 * Returns the JSON Schema of a tool's input for MCP clients. It has no title and no description, because these are
 * shown with the tool itself.
 */
export function inputSchemaOf(schema: JsonSchema): ToolDefinition["inputSchema"] {
  const { title: _, description: __, ...inputSchema } = schema;
  return JSON.parse(JSON.stringify(inputSchema));
}
