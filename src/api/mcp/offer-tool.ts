import type { Config } from "../../config/config.ts";
import { canKeepAnswers } from "../../config/output-config.ts";
import { inputOf } from "../../config/tool-input.ts";
import type { Offer, OfferedTool } from "../../core/offers/offer.ts";
import { firstChars, wellFormed } from "../../core/text.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { at } from "../../providers/json-fields.ts";
import { submitTargetOf } from "../../providers/submit-target.ts";
import type { Connection } from "../../providers/provider.ts";
import { validate } from "../http/body.ts";
import { Problem } from "../http/problem.ts";
import { Unread } from "../operation.ts";
import { RESPOND_ASYNC } from "../submit/preference.ts";
import { submitJob } from "../submit/submit-job.ts";
import { submitJobRoute } from "../submit/submit-route.ts";
import type { Submitted } from "../submit/submitted.ts";
import { UpstreamCall } from "../submit/upstream-call.ts";
import { readTask } from "../tasks/read-task.ts";
import { taskIn } from "../tasks/task-json.ts";
import { priceText } from "./price-text.ts";
import { inputSchemaOf, type Tool, type ToolCall, type ToolOutcome } from "./tool.ts";

/** Largest number of characters of an upstream's refusal that a tool's result shows to a model. */
const MAX_REFUSAL_CHARS = 2_000;
const LATER = "The call answers at once; what is generated comes later, as the result of a task.";
const STARTED = "The job was submitted.";
const REPEATED = "A call with the same key has submitted the job before.";

/**
 * Returns the MCP tool with which a caller submits jobs of an offer. Its description states the price that the caller
 * pays, which is nothing for an operator.
 * @param connection connection of the offer.
 */
export function offerTool(
  offer: Offer,
  tool: OfferedTool,
  connection: Connection,
  caller: Caller,
): Tool {
  const price = accountOf(caller) === null ? null : offer.price;
  const { title, description } = tool.schema;
  const about = description ?? `Submits a job of the model ${tool.model} at ${offer.connection}.`;
  return {
    definition: {
      name: tool.name,
      ...(title !== undefined && { title }),
      description: `${about} ${priceText(price)} ${LATER}`,
      inputSchema: inputSchemaOf(tool.schema),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    route: submitJobRoute,
    perform: (call) => submitOffered(tool, connection, call),
  };
}

/**
 * Submits a job of an offer for the call of an MCP tool, in the same way as `POST /v1/submit/{connection}/{path}`. The
 * body is made from the arguments of the call.
 */
async function submitOffered(
  tool: OfferedTool,
  connection: Connection,
  { caller, context, given, idempotencyKey }: ToolCall,
): Promise<ToolOutcome> {
  const started = await submitJob
    .perform(
      {
        params: { connection: connection.name },
        body: new Unread(() => callOf(tool, connection, given, context.runtime.config)),
        // A submission with a price needs a key.
        idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
      },
      caller,
      context,
    )
    .then(startOf, knownTaskOf);
  const { id, statusUrl, note } = started;
  try {
    const { task } = await readTask.perform({ params: { id } }, caller, context);
    return { kind: "started", task, statusUrl, note };
  } catch (error) {
    const isErased = error instanceof Problem && error.code === "unknown_task";
    if (!isErased || started.answer === null) throw error;
    return { kind: "result", result: await refusalOf(started.answer) };
  }
}

/** Task of a submitted job, and a sentence that says whether this call or an earlier one has started the job. */
interface Start {
  readonly id: string;
  readonly statusUrl: string | null;
  readonly note: string;
  /** The upstream's response to the submission. Null when it is not known. */
  readonly answer: Submitted | null;
}

function startOf(answer: Submitted): Start {
  const { taskId: id, statusUrl, isReplayed } = answer;
  return { id, statusUrl, note: isReplayed ? REPEATED : STARTED, answer };
}

/**
 * Returns the task that an error of a submission names because the upstream's response is unknown or no longer stored,
 * so that the client can follow the task. The task may have ended already.
 * @throws the error itself when it names no task, or names the task of another submission.
 */
function knownTaskOf(error: unknown): Start {
  if (!(error instanceof Problem) || !KNOWN_TASKS.includes(error.code)) throw error;
  const { taskJson, headers, detail } = error.details;
  if (taskJson === undefined) throw error;
  const statusUrl = headers?.["Relay-Status-Url"] ?? null;
  return { id: taskIn({ json: taskJson }).id, statusUrl, note: detail, answer: null };
}

const KNOWN_TASKS: readonly string[] = ["submit_unknown", "task_exists"];

/**
 * Returns the call to the upstream whose body has these arguments of a tool. The model in the call is always that of
 * the tool, because the price is for this model. Where the answer is the result, the tool does not wait for it if the
 * relay can keep it, because it may take minutes and contain files.
 * @throws Problem `invalid_request` when the arguments do not match the tool's description.
 */
function callOf(
  { path, model, schema }: OfferedTool,
  connection: Connection,
  given: unknown,
  config: Config,
) {
  const members = validate(inputOf(schema).parser, given);
  const target = submitTargetOf(connection, path);
  const isInBody = target !== null && "pointer" in target.model;
  const job = isInBody ? withMember(members, namesIn(target.model.pointer), model) : members;
  const headers = new Headers({ "Content-Type": "application/json" });
  const isResult = target?.answer === "result";
  if (isResult && canKeepAnswers(config)) headers.set("Prefer", RESPOND_ASYNC);
  const { body } = new Response(JSON.stringify(target?.isListOfOne === true ? [job] : job));
  return new UpstreamCall("POST", path, "", headers, body, "connection");
}

/** Returns the member names of which a JSON Pointer (RFC 6901) consists, unescaped. */
function namesIn(pointer: string): readonly string[] {
  const names = pointer.split("/").slice(1);
  return names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * Returns a copy of an object in which the value at the path of names is set. A value on the way there that is not an
 * object is replaced by an object.
 */
function withMember(
  members: unknown,
  [name = "", ...inner]: readonly string[],
  value: string,
): object {
  const isObject = typeof members === "object" && members !== null && !Array.isArray(members);
  const set = inner.length === 0 ? value : withMember(at(members, name), inner, value);
  return Object.fromEntries([...(isObject ? Object.entries(members) : []), [name, set]]);
}

/**
 * Returns the result of a tool call whose job the upstream has refused. By then the task is erased, and its price has
 * been returned.
 */
async function refusalOf({ status, body }: Submitted) {
  const answer = await new Response(body).text();
  const text = `The upstream has refused the job with HTTP status ${status}, and nothing was charged: ${firstChars(wellFormed(answer), MAX_REFUSAL_CHARS)}`;
  return { isError: true, content: [{ type: "text" as const, text }] };
}
