import * as z from "zod/mini";
import { canKeepAnswers } from "../../config/output-config.ts";
import { inputOf } from "../../config/tool-input.ts";
import type { OfferedTool } from "../../core/offers/offer.ts";
import { namesIn } from "../../core/pointer.ts";
import { accountOf } from "../../objects/task/caller.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { at } from "../../providers/json-fields.ts";
import type { Connection } from "../../providers/provider.ts";
import { submitTargetOf } from "../../providers/submit-target.ts";
import { readJson, validate } from "../http/body.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { type Call, type Context, NoQuery, operation, Unread } from "../operation.ts";
import { requireOffer } from "../offers/asked-offer.ts";
import { readTask } from "../tasks/read-task.ts";
import { taskIn } from "../tasks/task-json.ts";
import { BodyReservation, bodyLimitOf } from "./body-budget.ts";
import { RESPOND_ASYNC } from "./preference.ts";
import { submitJob } from "./submit-job.ts";
import type { Submitted } from "./submitted.ts";
import { readSubmittedBody } from "./submitted-body.ts";
import { UpstreamCall } from "./upstream-call.ts";

/** A customer's request to submit a job by an offer with a body: its headers and the arguments of the job. */
export class OfferedJob {
  /** Headers of the request; of those for the upstream, the relay passes on the same as of an upstream's own call. */
  readonly headers: Headers;
  /** The arguments of the job: parsed already, or as the JSON text that arrives. */
  readonly given: { readonly json: unknown } | { readonly body: ReadableStream<Uint8Array> | null };

  constructor(headers: Headers, given: OfferedJob["given"]) {
    this.headers = headers;
    this.given = given;
  }
}

/** Result of a submission by an offer: the task, or the upstream's answer of a refusal, for which there is no task. */
export type OfferSubmitted =
  | {
      readonly kind: "started";
      readonly taskId: string;
      readonly task: TaskReply;
      /** Status link of the task. Null when it could not be made. */
      readonly statusUrl: string | null;
      /** True when a call with the same `Idempotency-Key` has submitted the job before. */
      readonly isReplayed: boolean;
    }
  | { readonly kind: "refused"; readonly answer: Submitted };

type OfferCall = Call<"offer", object, OfferedJob>;

/**
 * Submits a job by an offer with a body: makes the upstream's call from the arguments, submits it as `submitJob` does,
 * and returns the task. Agents (`POST /mcp`) and programs (`POST /v1/submit/{offer}`) both come here.
 */
export const submitOffer = operation(
  "submitOffer",
  {
    access: "submit",
    rateLimit: "LIMIT_SUBMITS",
    params: ["offer"],
    query: NoQuery,
    body: z.instanceof(OfferedJob),
    takesIdempotencyKey: true,
  },
  async (call: OfferCall): Promise<OfferSubmitted> => {
    const { caller, params, idempotencyKey, trace } = call;
    const { connection, tool } = await requireOffer(params.offer, call);
    const upstreamCall = await callOf(tool, connection, call);
    const start = await submitJob
      .perform(
        {
          params: { connection: connection.name },
          body: new Unread(() => upstreamCall),
          idempotencyKey,
        },
        caller,
        { ...contextOf(call), trace, counted: "LIMIT_SUBMITS" },
      )
      .then(startOf, knownTaskOf);
    return await withTask(start, call);
  },
);

/** Returns the context of the operations that a submission by an offer performs. */
function contextOf({ env, runtime, origin, isOriginProven }: OfferCall): Context {
  return { env, runtime, origin, isOriginProven };
}

/** The task of a submission, before it is read. */
interface Start {
  readonly id: string;
  readonly statusUrl: string | null;
  readonly isReplayed: boolean;
  /** The upstream's response to the submission. Null when it is no longer stored. */
  readonly answer: Submitted | null;
}

function startOf(answer: Submitted): Start {
  const { taskId: id, statusUrl, isReplayed } = answer;
  return { id, statusUrl, isReplayed, answer };
}

/**
 * Returns the task of a repeated submission whose first response is no longer stored.
 * @throws the error itself when it is about anything else.
 */
function knownTaskOf(error: unknown): Start {
  if (!(error instanceof Problem) || error.code !== "task_exists") throw error;
  const { taskJson, headers } = error.details;
  if (taskJson === undefined) throw error;
  const { id } = taskIn({ json: taskJson });
  return { id, statusUrl: headers?.["Relay-Status-Url"] ?? null, isReplayed: true, answer: null };
}

/** Returns the task of a submission. When the upstream has refused the job, the task was erased. */
async function withTask(
  { id, statusUrl, isReplayed, answer }: Start,
  call: OfferCall,
): Promise<OfferSubmitted> {
  try {
    const { task } = await readTask.perform({ params: { id } }, call.caller, contextOf(call));
    // The result, where it is the answer, is read from the task.
    if (answer?.body instanceof ReadableStream) await answer.body.cancel();
    return { kind: "started", taskId: id, task, statusUrl, isReplayed };
  } catch (error) {
    const isErased = error instanceof Problem && error.code === "unknown_task";
    if (!isErased || answer === null) throw error;
    return { kind: "refused", answer };
  }
}

/**
 * Returns the upstream's call whose body has the arguments of a job. The model is always that of the offer, because the
 * price is for this model. Where the upstream's answer is the result, the relay makes the call without a waiting client
 * if it can keep the result, because it may take minutes and contain files.
 * @throws Problem `invalid_request` when the arguments do not match the schema of the offer.
 */
async function callOf(
  { path, model, schema }: OfferedTool,
  connection: Connection,
  call: OfferCall,
): Promise<UpstreamCall> {
  const members = validate(inputOf(schema).parser, await argumentsIn(call));
  const target = submitTargetOf(connection, path);
  const isInBody = target !== null && "pointer" in target.model;
  const job = isInBody ? withMember(members, namesIn(target.model.pointer), model) : members;
  const { body } = new Response(JSON.stringify(target?.isListOfOne === true ? [job] : job));
  const isLong = target?.answer === "result" && canKeepAnswers(call.runtime.config);
  const headers = headersOf(call.body, isLong);
  return new UpstreamCall("POST", path, "", headers, body, "connection");
}

/** Returns the headers of the upstream's call, with the preference not to wait for the answer if it takes long. */
function headersOf({ headers: given }: OfferedJob, isLong: boolean): Headers {
  if (given.has("Relay-Key")) {
    const message = "must be left out: the jobs of an offer with a body use the key of the relay";
    throw invalidRequest([{ path: "/Relay-Key", message }]);
  }
  const headers = new Headers(given);
  headers.delete("Content-Length");
  headers.set("Content-Type", "application/json");
  if (isLong) headers.append("Prefer", RESPOND_ASYNC);
  return headers;
}

/**
 * Returns the arguments of a job, of which JSON text is read with the limits on the body of any submission.
 * @throws Problem when the text cannot be read, is too long, or is not JSON.
 */
async function argumentsIn({ body: { headers, given }, caller, runtime }: OfferCall) {
  if ("json" in given) return given.json;
  const account = accountOf(caller);
  const memory = new BodyReservation(account);
  try {
    const limit = bodyLimitOf(account, runtime.config);
    const reserve = async (bytes: number) => await Promise.resolve(memory.growTo(bytes));
    const bytes = await readSubmittedBody({ body: given.body, headers }, limit, reserve);
    return bytes.length === 0 ? {} : readJson(bytes);
  } finally {
    memory.release();
  }
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
