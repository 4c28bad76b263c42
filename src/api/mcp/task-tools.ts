import type { OwnTool } from "../../config/offers.ts";
import { toolInput, type ToolInput } from "../../config/tool-input.ts";
import { validate } from "../http/body.ts";
import { Unread } from "../operation.ts";
import { listTasks, listTasksRoute } from "../search/list-tasks.ts";
import { cancelTask, cancelTaskRoute } from "../tasks/cancel-task.ts";
import { readTask, readTaskRoute } from "../tasks/read-task.ts";
import { taskIn } from "../tasks/task-json.ts";
import { jsonResult, taskResult } from "./tool-result.ts";
import { inputSchemaOf, type Tool } from "./tool.ts";

/**
 * Longest time in seconds for which the response to a tool call may wait for the end of a task, because many clients
 * give up after a minute.
 */
const MAX_WAIT_S = 50;
const ID = { type: "string", description: "Id of the task." } as const;

const READ = toolInput(
  {
    id: ID,
    wait: {
      type: "integer",
      minimum: 0,
      maximum: MAX_WAIT_S,
      description: "Seconds to wait for the end of the task before answering.",
    },
  },
  ["id"],
);
const LIST = toolInput(
  {
    status: { type: "string", enum: ["pending", "processing", "completed", "failed"] },
    submission: {
      type: "string",
      enum: ["queued", "sending", "accepted", "unknown", "refused"],
      description: "State of the call that starts the job; queued: it waits to be sent.",
    },
    model: { type: "string" },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: 200,
      description: "Tasks on a page; 50 by default.",
    },
    cursor: { type: "string", description: "next_cursor of the page before." },
  },
  [],
);
const CANCEL = toolInput({ id: ID }, ["id"]);

/**
 * The relay's own MCP tools, by their names. They can be used for every task of the caller, whether or not a tool has
 * started the task.
 */
const OWN: { readonly [Name in OwnTool]: Tool & { definition: { name: Name } } } = {
  read_task: {
    definition: {
      name: "read_task",
      description:
        "Reads a task: its status (pending, processing, completed or failed), its position while it waits in a queue, and at its end the links to what was generated or the error.",
      inputSchema: inputSchemaOf(READ.schema),
      annotations: { readOnlyHint: true },
    },
    route: readTaskRoute,
    perform: async ({ caller, context, given }) => {
      const { id = "", wait = "0" } = textsIn(READ, given);
      const query = { wait };
      const { task } = await readTask.perform({ params: { id }, query }, caller, context);
      return { kind: "result", result: taskResult(taskIn(task)) };
    },
  },
  list_tasks: {
    definition: {
      name: "list_tasks",
      description:
        "Lists tasks, newest first. A new task appears after half a minute or more; read_task has it at once.",
      inputSchema: inputSchemaOf(LIST.schema),
      annotations: { readOnlyHint: true },
    },
    route: listTasksRoute,
    perform: async ({ caller, context, given }) => {
      const query = new Unread(() => textsIn(LIST, given));
      const page = await listTasks.perform({ params: {}, query }, caller, context);
      return { kind: "result", result: jsonResult(page) };
    },
  },
  cancel_task: {
    definition: {
      name: "cancel_task",
      description:
        "Cancels a task. Where its job can be canceled, the upstream must confirm it: until then the task goes on, and its member cancel says why.",
      inputSchema: inputSchemaOf(CANCEL.schema),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    },
    route: cancelTaskRoute,
    perform: async ({ caller, context, given }) => {
      const { id = "" } = textsIn(CANCEL, given);
      const { task } = await cancelTask.perform({ params: { id } }, caller, context);
      return { kind: "result", result: taskResult(taskIn(task)) };
    },
  },
};

export const TASK_TOOLS: readonly Tool[] = Object.values(OWN);

/**
 * Returns the arguments of a tool's call as texts, the form in which operations take parameters.
 * @throws Problem `invalid_request` when the arguments do not match the tool's description.
 */
function textsIn({ parser }: ToolInput, given: unknown): Readonly<Record<string, string>> {
  const values = Object.entries(validate(parser, given));
  return Object.fromEntries(values.map(([name, value]) => [name, String(value)]));
}
