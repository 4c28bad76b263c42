import * as z from "zod/mini";

/**
 * Name of the MCP extension for tasks
 * (https://modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html).
 */
const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/**
 * Capability that an MCP client must declare to read, cancel or follow tasks by the methods of MCP. Calling a tool
 * needs no capability.
 */
export const TASKS_CAPABILITY = { extensions: { [TASKS_EXTENSION]: {} } };

const Declared = z.object({
  "io.modelcontextprotocol/clientCapabilities": z.object({
    extensions: z.object({ [TASKS_EXTENSION]: z.strictObject({}) }),
  }),
});
const TaskSubscription = z.object({
  method: z.literal("subscriptions/listen"),
  params: z.object({
    notifications: z.object({ taskIds: z.array(z.string()) }),
    _meta: z.optional(z.unknown()),
  }),
});

/** Tells, from the `_meta` that an MCP client sends with a request, whether the client understands tasks. */
export function declaresTasks(meta: unknown): boolean {
  return Declared.safeParse(meta).success;
}

/**
 * Tells whether an MCP message asks for notifications about tasks although its client does not declare that it
 * understands tasks.
 */
export function lacksTasks(message: unknown): boolean {
  const asked = TaskSubscription.safeParse(message);
  return asked.success && !declaresTasks(asked.data.params["_meta"]);
}
