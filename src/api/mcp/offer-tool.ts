import type { Offer, OfferedTool } from "../../core/offers/offer.ts";
import { firstChars, wellFormed } from "../../core/text.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { Problem } from "../http/problem.ts";
import { type Context, Unread } from "../operation.ts";
import { argumentSchema } from "../offers/offer-schema.ts";
import { priceText } from "../offers/price-text.ts";
import { RESPOND_ASYNC } from "../submit/preference.ts";
import { OfferedJob, type OfferSubmitted, submitOffer } from "../submit/submit-offer.ts";
import { submitOfferRoute } from "../submit/submit-offer-route.ts";
import type { Submitted } from "../submit/submitted.ts";
import { readTask } from "../tasks/read-task.ts";
import { taskIn } from "../tasks/task-json.ts";
import { inputSchemaOf, type Tool, type ToolCall, type ToolOutcome } from "./tool.ts";

/** Largest number of characters of an upstream's refusal that a tool's result shows to a model. */
const MAX_REFUSAL_CHARS = 2_000;
const LATER = "The call answers at once; what is generated comes later, as the result of a task.";
const STARTED = "The job was submitted.";
const WAITING = "No place for another job is free, so the job waits for one.";
const REPEATED = "A call with the same key has submitted the job before.";
/**
 * Codes of refusals that concern only a submission whose caller waits for the upstream. A repetition that does not wait
 * gets the task.
 */
const AT_ONCE: ReadonlySet<string> = new Set(["connection_busy", "submission_running"]);

/**
 * Returns the MCP tool with which a caller submits jobs of an offer. Its description states the price that the caller
 * pays, which is nothing for an operator.
 */
export function offerTool(offer: Offer, tool: OfferedTool, caller: Caller): Tool {
  const price = accountOf(caller) === null ? null : offer.price;
  const { schema, model } = tool;
  const title = offer.title ?? schema.title;
  const about = offer.description ?? schema.description ?? `Submits a job of the model ${model}.`;
  return {
    definition: {
      name: tool.name,
      ...(title !== undefined && { title }),
      description: `${about} ${priceText(price)} ${LATER}`,
      inputSchema: inputSchemaOf(argumentSchema(schema, offer.limits)),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    route: submitOfferRoute,
    perform: (call) => submitOffered(offer, call),
  };
}

/**
 * Submits a job of an offer for the call of an MCP tool, as `POST /v1/submit/{offer}` does. If no place is free for the
 * job, it waits for one, because the caller follows its task anyway.
 */
async function submitOffered(
  { name }: Offer,
  { caller, context, given, idempotencyKey }: ToolCall,
): Promise<ToolOutcome> {
  // A submission with a price needs a key.
  const key = idempotencyKey ?? crypto.randomUUID();
  const submit = async (headers: Headers, counted: Context["counted"]) =>
    await submitOffer.perform(
      {
        params: { offer: name },
        body: new Unread(() => new OfferedJob(headers, { json: given })),
        idempotencyKey: key,
      },
      caller,
      { ...context, counted },
    );
  try {
    return await outcomeOf(await submit(new Headers(), context.counted), STARTED);
  } catch (error) {
    if (!(error instanceof Problem) || !AT_ONCE.has(error.code)) {
      return await unknownStart(error, caller, context);
    }
    const headers = new Headers({ Prefer: RESPOND_ASYNC });
    return await outcomeOf(await submit(headers, "LIMIT_SUBMITS"), WAITING);
  }
}

/** @param note sentence about a job that was not submitted before. */
async function outcomeOf(submitted: OfferSubmitted, note: string): Promise<ToolOutcome> {
  if (submitted.kind === "refused") {
    return { kind: "result", result: await refusalOf(submitted.answer) };
  }
  const { task, statusUrl, isReplayed } = submitted;
  return { kind: "started", task, statusUrl, note: isReplayed ? REPEATED : note };
}

/**
 * Returns the task of a submission of which it is not known whether the upstream has started a job, so that the client
 * can follow the task. The task may have ended already.
 * @throws the error itself when it is about anything else.
 */
async function unknownStart(
  error: unknown,
  caller: Caller,
  context: ToolCall["context"],
): Promise<ToolOutcome> {
  if (!(error instanceof Problem) || error.code !== "submit_unknown") throw error;
  const { taskJson, headers, detail } = error.details;
  if (taskJson === undefined) throw error;
  const { id } = taskIn({ json: taskJson });
  const { task } = await readTask.perform({ params: { id } }, caller, context);
  const statusUrl = headers?.["Relay-Status-Url"] ?? null;
  return { kind: "started", task, statusUrl, note: detail };
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
