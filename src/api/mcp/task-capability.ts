import * as z from "zod/mini";

/**
 * Name of the extension of MCP for tasks
 * (https://modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html).
 */
const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/**
 * Capability that a client of MCP must declare to read, cancel or follow tasks by the methods of MCP. The call of a
 * tool needs no capability.
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

/** Tells whether a client of MCP understands tasks, by the `_meta` that it sends with a request. */
export function declaresTasks(meta: unknown): boolean {
  return Declared.safeParse(meta).success;
}

/**
 * Tells whether a message of MCP asks for notifications about tasks although its client does not declare that it
 * understands tasks.
 */
export function lacksTasks(message: unknown): boolean {
  const asked = TaskSubscription.safeParse(message);
  return asked.success && !declaresTasks(asked.data.params["_meta"]);
}
