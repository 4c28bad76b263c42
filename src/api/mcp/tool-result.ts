import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Task } from "../shapes/task-shape.ts";
import { type Problem, problemMembers } from "../http/problem.ts";
import { taskIn } from "../tasks/task-json.ts";
import type { StartedTask } from "./tool.ts";

/** Returns a JSON object as the result of a tool: as text for models, and as structured content for programs. */
export function jsonResult(value: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

/** Returns a task as the result of a tool, with links to the outputs of the task. */
export function taskResult(task: Task): CallToolResult {
  const { content, ...result } = jsonResult({ ...task });
  const links = (task.output?.urls ?? []).map((uri, i) => ({
    type: "resource_link" as const,
    uri,
    name: `output ${i + 1}`,
  }));
  return { ...result, content: [...content, ...links] };
}

/**
 * Returns the result of an ended task as the result of the MCP tool that has started it. A failed task gives an error.
 */
export function endResult(task: Task): CallToolResult {
  return { ...taskResult(task), ...(task.status === "failed" && { isError: true }) };
}

/** Returns the result of an MCP tool that has started a task, for a client that does not understand MCP tasks. */
export function startedResult({ task, statusUrl, note }: StartedTask): CallToolResult {
  const started = taskIn(task);
  const { id } = started;
  const link = statusUrl === null ? "" : ` Anybody may follow it at ${statusUrl} .`;
  const text = `${note} Its task is ${id}: call read_task with this id until its status is completed or failed.${link}`;
  return {
    content: [{ type: "text", text }],
    structuredContent: { task: started, ...(statusUrl !== null && { status_url: statusUrl }) },
  };
}

/**
 * Returns a refusal as the result of an MCP tool: an error that the model can read, so that it can correct its call.
 * @param origin origin of the relay, for the link to the explanation of the problem.
 */
export function problemResult(problem: Problem, origin: string): CallToolResult {
  const { detail, issues = [], taskJson } = problem.details;
  const faults = issues.map(
    ({ path, message }) => `${path === "" ? "The arguments" : path} ${message}.`,
  );
  const task = taskJson === undefined ? {} : { task: taskIn({ json: taskJson }) };
  return {
    isError: true,
    content: [{ type: "text", text: [`${problem.code}:`, detail, ...faults].join(" ") }],
    structuredContent: { ...problemMembers(problem, origin), ...task },
  };
}
