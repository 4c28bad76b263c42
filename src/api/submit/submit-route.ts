import type { Env } from "../../env.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Connection } from "../../providers/provider.ts";
import type { KeyHolder } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { KEY_HEADERS, MAX_KEY_CHARS } from "./customer-credential.ts";
import { holderOfKey, unauthenticated, UNKNOWN_KEY } from "../http/auth.ts";
import { calledOrigin } from "../http/link-origin.ts";
import { invalidRequest } from "../http/problem.ts";
import { type ProtectedRoute, requireRuntime } from "../http/route.ts";
import { traceOf } from "../http/trace-headers.ts";
import { Unread } from "../operation.ts";
import { type CallMethod, jobCallOf } from "../../providers/job-calls.ts";
import { makeAuxiliaryCall } from "../jobs/auxiliary-call.ts";
import { jobResponse } from "../jobs/job-response.ts";
import { responseOf } from "../jobs/asked-job.ts";
import { cancelJob } from "../jobs/cancel-by-job.ts";
import { readContent } from "../jobs/read-content.ts";
import { readJob } from "../jobs/read-job.ts";
import { submitJob } from "./submit-job.ts";
import type { Submitted } from "./submitted.ts";
import { callTargetOf, statedTargetOf, UpstreamCall } from "./upstream-call.ts";

const PATH = "/v1/submit/{connection}/{+path}";
const KEY_REQUIRED =
  "A key of the relay is required: Authorization: Bearer <key>, or the header in which the upstream's SDK sends its key.";
/**
 * Pattern of the value of the header in which an SDK sends its key: the key alone, or after a word such as `Bearer` or
 * `Key`.
 */
const SDK_KEY = /^(?:[\w-]+\s+)?(\S+)$/;
/** Pattern of the value of `Relay-Key`. Two such headers, which are joined by a comma and a space, do not match it. */
const RELAY_KEY = /^(?:Bearer\s+)?(\S+)$/i;

type RouteCall = Parameters<ProtectedRoute["handle"]>[0];

/**
 * Route of submissions: `POST /v1/submit/{connection}/` followed by the upstream's own path. Content type, body and
 * query are those of the upstream's API, so that its SDK can submit through the relay when only its base URL is
 * changed. Calls by `POST` that cancel a job or upload a file come here too.
 */
export const submitJobRoute: ProtectedRoute<"submitJob"> = {
  id: "submitJob",
  method: "POST",
  path: PATH,
  access: "submit",
  rateLimit: "LIMIT_SUBMITS",
  query: null,
  body: null,
  handle: async (request) => {
    const { given, caller, context, kind } = await upstreamCallOf(request, "POST");
    if (kind === "cancel") return responseOf(await cancelJob.perform(given, caller, context));
    if (kind === "upload") {
      return responseOf(await makeAuxiliaryCall.perform(given, caller, context));
    }
    return answerOf(await submitJob.perform(given, caller, context));
  },
};

/**
 * Route of calls that read a job that was submitted through the relay, or fetch its output: `GET` with the upstream's
 * own path. An SDK of the upstream makes such calls while it waits for its job. Lookups come here too.
 */
export const readJobRoute: ProtectedRoute<"readJob"> = {
  id: "readJob",
  method: "GET",
  path: PATH,
  access: "read",
  query: null,
  body: null,
  handle: async (request) => {
    const call = async () => await upstreamCallOf(request, "GET");
    const { given, caller, context, kind } = await call();
    if (kind === "content") return await readContent.perform(given, caller, context);
    if (kind === "lookup") {
      return responseOf(await makeAuxiliaryCall.perform(given, caller, context));
    }
    const first = await readJob.perform(given, caller, context);
    return jobResponse(first, async () => {
      const again = await call();
      return (await readJob.perform(again.given, again.caller, again.context)).answer;
    });
  },
};

/** Route of calls that cancel a job by `DELETE`. */
export const cancelJobRoute = routeOfCancellation("cancelJob", "DELETE");
/** Route of calls that cancel a job by `PUT`. */
export const putCancelJobRoute = routeOfCancellation("putCancelJob", "PUT");

function routeOfCancellation<Id extends string>(
  id: Id,
  method: "PUT" | "DELETE",
): ProtectedRoute<Id> {
  return {
    id,
    method,
    path: PATH,
    access: "cancel",
    rateLimit: "LIMIT_LISTS",
    query: null,
    body: null,
    handle: async (request) => {
      const { given, caller, context } = await upstreamCallOf(request, method);
      return responseOf(await cancelJob.perform(given, caller, context));
    },
  };
}

/**
 * Returns the call to the upstream that a request to the relay contains, the caller, and the kind of the call: e.g.
 * `cancel`, or null for a submission.
 */
async function upstreamCallOf(
  { request, env, url, params, callerWithoutKey }: RouteCall,
  method: CallMethod,
) {
  const runtime = requireRuntime(env);
  const { headers, body } = request;
  const relayKey = headers.get("Relay-Key");
  const caller =
    relayKey === null
      ? await callerOf(headers, callerWithoutKey, runtime, env)
      : await callerWith(relayKey, headers, runtime, env);
  const keyOwner = relayKey === null ? "connection" : "customer";
  const { connection = "" } = params;
  const prefix = `/v1/submit/${connection}`;
  const call = () => {
    const { path, query } = callTargetOf(request.url, prefix);
    return new UpstreamCall(method, path, query, headers, body, keyOwner);
  };
  const given = {
    params: { connection },
    body: new Unread(call),
    idempotencyKey: headers.get("Idempotency-Key"),
  };
  // The operation of this kind checks the path.
  const stated = statedTargetOf(request.url, prefix);
  const kind = kindOf(method, stated, runtime.config.connections.get(connection));
  const context = { env, runtime, ...calledOrigin(request, url), trace: traceOf(headers) };
  return { given, caller, kind, context };
}

/**
 * Returns the kind of a call about a job, e.g. `read` or `cancel`, or of an auxiliary call.
 * @returns null for a submission and for any other call.
 */
function kindOf(
  method: CallMethod,
  { path, query }: Pick<UpstreamCall, "path" | "query">,
  connection: Connection | undefined,
) {
  const provider = connection?.provider;
  const adapter = provider?.polls == null ? undefined : provider.jobCalls;
  return adapter === undefined ? null : (jobCallOf(adapter, method, path, query)?.kind ?? null);
}

/**
 * Identifies the caller of a submission by an API key of the relay, in the header in which the upstream's SDK sends its
 * key.
 * @throws Problem `unauthenticated` when there is no valid key; `invalid_request` when the headers contain two
 * different keys.
 */
async function callerOf(
  headers: Headers,
  callerWithoutKey: KeyHolder | null,
  runtime: Runtime,
  env: Env,
): Promise<KeyHolder> {
  const given = KEY_HEADERS.filter((name) => headers.has(name));
  if (callerWithoutKey !== null && given.length === 0) return callerWithoutKey;
  const found = given.filter((name) => keyIn(headers.get(name), SDK_KEY) !== null);
  const [key, ...others] = new Set(
    found.flatMap((name) => keyIn(headers.get(name), SDK_KEY) ?? []),
  );
  if (others.length > 0) {
    const [first, ...rest] = found;
    const message = `must contain the same key as ${rest.join(", ")}; with a key of your own at the upstream, the relay's key goes into Relay-Key`;
    throw invalidRequest([{ path: `/${first}`, message }]);
  }
  const caller = key === undefined ? null : await holderOfKey(key, headers, runtime, env);
  if (caller !== null) return caller;
  if (given.length > 0) measureRefusal(env.METRICS);
  throw unauthenticated(key === undefined ? KEY_REQUIRED : UNKNOWN_KEY);
}

/**
 * Identifies the caller of a submission by the header `Relay-Key`, while another header has the customer's own key for
 * the upstream.
 * @throws Problem `unauthenticated` when the key is not valid; `invalid_request` when the header does not contain
 * exactly one key.
 */
async function callerWith(
  header: string,
  headers: Headers,
  runtime: Runtime,
  env: Env,
): Promise<KeyHolder> {
  const key = header.length > MAX_KEY_CHARS ? null : keyIn(header, RELAY_KEY);
  if (key === null) {
    const message = `must have one key of the relay, alone or behind Bearer, of at most ${MAX_KEY_CHARS} characters`;
    throw invalidRequest([{ path: "/Relay-Key", message }]);
  }
  const caller = await holderOfKey(key, headers, runtime, env);
  if (caller !== null) return caller;
  measureRefusal(env.METRICS);
  throw unauthenticated(UNKNOWN_KEY);
}

/**
 * Returns the only key in the value of a header, without the word that may precede it, e.g. `Bearer`.
 * @returns null when the value has another form.
 */
function keyIn(header: string | null, form: RegExp): string | null {
  return form.exec((header ?? "").trim())?.[1] ?? null;
}

/** Returns the upstream's answer to a submission as the response to its caller. */
export function answerOf({
  taskId,
  status,
  headers,
  body,
  statusUrl,
  isReplayed,
}: Submitted): Response {
  headers.set("Relay-Task-Id", taskId);
  if (statusUrl !== null) {
    headers.set("Relay-Status-Url", statusUrl);
    headers.set("Location", `/v1/tasks/${taskId}`);
  }
  if (isReplayed) headers.set("Idempotent-Replayed", "true");
  return new Response(body, { status, headers });
}
