import type { Env } from "../../env.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { KeyHolder } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { KEY_HEADERS, MAX_KEY_CHARS } from "./customer-credential.ts";
import { holderOfKey, unauthenticated } from "../http/auth.ts";
import { invalidRequest } from "../http/problem.ts";
import { type ProtectedRoute, requireRuntime } from "../http/route.ts";
import { Unread } from "../operation.ts";
import { jobResponse } from "../jobs/job-response.ts";
import { readJob } from "../jobs/read-job.ts";
import { submitJob } from "./submit-job.ts";
import type { Submitted } from "./submitted.ts";
import { callTargetOf, UpstreamCall } from "./upstream-call.ts";

const PATH = "/v1/submit/{connection}/{+path}";
const KEY_REQUIRED =
  "A key of the relay is required: Authorization: Bearer <key>, or the header in which the upstream's SDK sends its key.";
/** Pattern of the header in which an SDK sends its key: the key alone, or after a scheme, e.g. `Bearer` or `Key`. */
const SDK_KEY = /^(?:[\w-]+\s+)?(\S+)$/;
/** Pattern of the header `Relay-Key`. Two such headers, which are joined by a comma and a space, do not match. */
const RELAY_KEY = /^(?:Bearer\s+)?(\S+)$/i;
const UNKNOWN_KEY = "The key is unknown or revoked.";

/**
 * Route of submissions: `POST /v1/submit/{connection}/` and the upstream's own path. Content type, body and query are the
 * upstream's own, so that an SDK of the upstream submits through the relay with another base URL.
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
    const { given, caller, context } = await upstreamCallOf(request);
    return answerOf(await submitJob.perform(given, caller, context));
  },
};

/**
 * Route of calls that read a job that was submitted through the relay: `GET` and the upstream's own path. An upstream's
 * SDK that waits for its job sends such calls.
 */
export const readJobRoute: ProtectedRoute<"readJob"> = {
  id: "readJob",
  method: "GET",
  path: PATH,
  access: "read",
  query: null,
  body: null,
  handle: async (request) => {
    const read = async () => {
      const { given, caller, context } = await upstreamCallOf(request);
      return await readJob.perform(given, caller, context);
    };
    return jobResponse(await read(), async () => (await read()).answer);
  },
};

/** Returns the call to the upstream that a request to the relay contains, and the caller of the request. */
async function upstreamCallOf({
  request,
  env,
  url,
  params,
  callerWithoutKey,
}: Parameters<ProtectedRoute["handle"]>[0]) {
  const runtime = requireRuntime(env);
  const { headers, body } = request;
  const relayKey = headers.get("Relay-Key");
  const caller =
    relayKey === null
      ? await callerOf(headers, callerWithoutKey, runtime, env)
      : await callerWith(relayKey, headers, runtime, env);
  const keyOwner = relayKey === null ? "connection" : "customer";
  const { connection = "" } = params;
  const call = () => {
    const { path, query } = callTargetOf(request.url, `/v1/submit/${connection}`);
    return new UpstreamCall(path, query, headers, body, keyOwner);
  };
  const given = {
    params: { connection },
    body: new Unread(call),
    idempotencyKey: headers.get("Idempotency-Key"),
  };
  return { given, caller, context: { env, runtime, origin: url.origin } };
}

/**
 * Identifies the caller of a submission by an API key of the relay in the header in which the upstream's SDK sends its
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
 * Identifies the caller of a submission by the header `Relay-Key`. The customer's own key for the upstream is then in
 * another header.
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

/** Returns the only key in a header, without the scheme that may precede it. Null when the header has another form. */
function keyIn(header: string | null, form: RegExp): string | null {
  return form.exec((header ?? "").trim())?.[1] ?? null;
}

function answerOf({ taskId, status, headers, body, statusUrl, isReplayed }: Submitted): Response {
  headers.set("Relay-Task-Id", taskId);
  if (statusUrl !== null) {
    headers.set("Relay-Status-Url", statusUrl);
    headers.set("Location", `/v1/tasks/${taskId}`);
  }
  if (isReplayed) headers.set("Idempotent-Replayed", "true");
  return new Response(body, { status, headers });
}
