import type { CallToolResult, Server, ServerContext } from "@modelcontextprotocol/server";
import type { CreateTaskResultV2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import * as z from "zod/mini";
import { traceIn } from "../../core/record/trace.ts";
import { log } from "../../lib/log.ts";
import { may } from "../../objects/task/caller.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { validate } from "../http/body.ts";
import type { ProtectedRoute } from "../http/route.ts";
import { problemFrom } from "../http/internal-error.ts";
import { Problem, problemMembers, refusalLine } from "../http/problem.ts";
import { PROBLEMS } from "../http/problem-list.ts";
import { cancelTask, cancelTaskRoute } from "../tasks/cancel-task.ts";
import { readTask, readTaskRoute } from "../tasks/read-task.ts";
import type { McpSdk } from "./load-mcp-sdk.ts";
import { detailedTaskOf, startedTaskOf } from "./mcp-task.ts";
import { offerTool } from "./offer-tool.ts";
import { declaresTasks, TASKS_CAPABILITY } from "./task-capability.ts";
import { TASK_TOOLS } from "./task-tools.ts";
import { problemResult, startedResult } from "./tool-result.ts";
import type { Offer } from "../../core/offers/offer.ts";
import type { Tool, ToolCall, ToolOutcome } from "./tool.ts";

/**
 * Name of the member of `_meta` that contains a key. When a tool call is repeated with the same key, no second job is
 * submitted.
 */
const IDEMPOTENCY_KEY = "task-relay/idempotency-key";
const INSTRUCTIONS =
  "Tools that cost something submit jobs that generate media. A job takes from seconds to hours; its end is that of its task. A call is never repeated for you: after an error, read the message before you call again.";

/** The caller who has sent an MCP message, with the context in which the relay performs operations for this caller. */
export interface McpCall extends Pick<ToolCall, "caller" | "context"> {
  /** Origin of the relay, with which links begin. */
  readonly origin: string;
  /** The offers whose tools the caller may call. */
  readonly offers: readonly Offer[];
}

const TaskParams = z.object({ taskId: z.string() });
const Meta = z.object({
  [IDEMPOTENCY_KEY]: z.optional(z.string()),
  traceparent: z.optional(z.unknown()),
  tracestate: z.optional(z.unknown()),
});

/**
 * Returns the SDK's server, which answers one message of an MCP client.
 * @param era `modern` for clients of the protocol revision 2026-07-28, which has the extension for tasks; `legacy` for
 * clients of earlier revisions.
 */
export function mcpServer(sdk: McpSdk, era: "legacy" | "modern", call: McpCall): Server {
  const { version } = call.context.env.startup;
  const extensions = era === "modern" ? TASKS_CAPABILITY : {};
  const server = new sdk.Server(
    { name: "task-relay", version: version ?? "development" },
    { capabilities: { tools: {}, ...extensions }, instructions: INSTRUCTIONS },
  );
  const tools = toolsOf(call);
  server.setRequestHandler("tools/list", () => ({
    tools: tools
      .filter(({ route }) => may(call.caller, route.access))
      .map(({ definition }) => definition),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ definition }) => definition.name === params.name);
    if (tool === undefined) {
      const text = `There is no tool ${JSON.stringify(params.name)}.`;
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, text);
    }
    const outcome = await performed(tool, params.arguments ?? {}, mcpReq._meta ?? {}, call);
    if (outcome.kind === "result") return outcome.result;
    return declaresTasks(mcpReq.envelope)
      ? createdTask(outcome.task, call)
      : startedResult(outcome);
  });
  if (era === "modern") addTaskMethods(server, sdk, call);
  return server;
}

function toolsOf({ caller, offers }: McpCall): readonly Tool[] {
  const offered = offers.flatMap((offer) =>
    offer.tool === null ? [] : offerTool(offer, offer.tool, caller),
  );
  return [...offered, ...TASK_TOOLS];
}

/**
 * Calls a tool. When the operation behind the tool refuses the call, the refusal becomes the tool's result, so that the
 * model can read it.
 */
async function performed(
  tool: Tool,
  given: unknown,
  meta: object,
  { caller, context, origin }: McpCall,
): Promise<ToolOutcome> {
  try {
    const {
      [IDEMPOTENCY_KEY]: idempotencyKey = null,
      traceparent,
      tracestate,
    } = validate(Meta, meta);
    // The call of the tool is nearer to the agent's work than the HTTP request that carries it.
    const trace = traceIn(textOf(traceparent), textOf(tracestate)) ?? context.trace;
    return await tool.perform({ caller, context: { ...context, trace }, given, idempotencyKey });
  } catch (error) {
    const result = problemResult(refused(error, tool.route), origin);
    return { kind: "result", result };
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Returns, as a problem, the error with which a tool call was refused, and logs the refusal. */
function refused(error: unknown, { method, path }: Pick<ProtectedRoute, "method" | "path">) {
  const problem = problemFrom(error);
  const line = refusalLine(problem, { via: "mcp", method, path });
  log(line, line.status >= 500 ? "warn" : "info");
  return problem;
}

/** Returns the response to a tool call that has started a task, for a client that understands MCP tasks. */
function createdTask(
  task: TaskReply,
  { context }: McpCall,
): CreateTaskResultV2 & Pick<CallToolResult, "content"> {
  const { config } = context.runtime;
  // The SDK demands a content of every result of a tool.
  return { ...startedTaskOf(task, config), resultType: "task", content: [] };
}

/** Adds the methods of MCP's extension for tasks (`tasks/get`, `tasks/update`, `tasks/cancel`) to a server. */
function addTaskMethods(server: Server, sdk: McpSdk, call: McpCall): void {
  const { caller, context } = call;
  const { config } = context.runtime;
  const read = async (id: string) =>
    (await readTask.perform({ params: { id } }, caller, context)).task;
  const answer = async <T>(
    { mcpReq }: ServerContext,
    route: Pick<ProtectedRoute, "method" | "path">,
    act: () => Promise<T>,
  ) => {
    if (!declaresTasks(mcpReq.envelope)) {
      const requiredCapabilities = TASKS_CAPABILITY;
      throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
    }
    try {
      return await act();
    } catch (error) {
      throw protocolError(refused(error, route), sdk, call);
    }
  };
  server.setRequestHandler(
    "tasks/get",
    { params: TaskParams },
    async ({ taskId }, request) =>
      await answer(request, readTaskRoute, async () => detailedTaskOf(await read(taskId), config)),
  );
  // No task of the relay asks for anything, so all responses are to requests that were never made, which are ignored.
  server.setRequestHandler(
    "tasks/update",
    { params: TaskParams },
    async ({ taskId }, request) =>
      await answer(request, readTaskRoute, async () => {
        await read(taskId);
        return {};
      }),
  );
  server.setRequestHandler(
    "tasks/cancel",
    { params: TaskParams },
    async ({ taskId }, request) =>
      await answer(request, cancelTaskRoute, async () => {
        await cancelOpen(taskId, call);
        return {};
      }),
  );
}

/**
 * Cancels a task for the MCP method `tasks/cancel`. When the task has already ended, nothing changes, and the
 * cancellation is acknowledged all the same.
 */
async function cancelOpen(id: string, { caller, context }: McpCall): Promise<void> {
  try {
    await cancelTask.perform({ params: { id } }, caller, context);
  } catch (error) {
    const hasEnded = error instanceof Problem && error.code === "task_settled";
    if (!hasEnded) throw error;
  }
}

/**
 * Converts a problem to an error of the MCP protocol: "invalid parameters" when the request is at fault, "internal
 * error" when the relay is at fault.
 */
function protocolError(
  problem: Problem,
  { ProtocolError, ProtocolErrorCode }: McpSdk,
  { origin }: McpCall,
) {
  const isOfClient = PROBLEMS[problem.code].status < 500;
  const code = isOfClient ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, problem.details.detail, problemMembers(problem, origin));
}
