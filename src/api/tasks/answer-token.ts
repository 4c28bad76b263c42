import type * as z from "zod/mini";
import { SECOND_MS } from "../../core/time.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { timesOfStatusToken } from "../../security/status-token.ts";
import { measureRefusal } from "../../task-object/measure.ts";
import { bearerOf, holderOfKey, unauthenticated } from "../http/auth.ts";
import { TaskId } from "../http/fields.ts";
import { problemFrom } from "../http/internal-error.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { readQuery } from "../http/query.ts";
import { countFailedCredential } from "../http/rate-limit.ts";
import { requireRuntime, type Route } from "../http/route.ts";
import type { AnswerReader } from "./reading-route.ts";
import { taskClient } from "./task-client.ts";

type Call = Parameters<Route["handle"]>[0];

/** A route that takes a status token (the token in the status link of a task) as well as a key. */
interface Linked<Q extends z.ZodMiniObject> {
  readonly query: Q;
  readonly answer: AnswerReader<z.output<Q>>;
  /** Handles the same request when its credential turns out to be an API key. */
  readonly byKey: Pick<Route, "handle">;
}

/** Headers that let pages of any site read the answer, and keep its address out of the referrers of browsers. */
const CROSS_ORIGIN = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "ETag, Retry-After",
  "Referrer-Policy": "no-referrer",
};

/**
 * Answers a CORS preflight request to a route that takes a status token (the token in the status link of a
 * task).
 */
export function preflight(): Response {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "Authorization, If-None-Match, Last-Event-ID, Prefer",
    // The longest time for which Chromium keeps it.
    "Access-Control-Max-Age": "7200",
  };
  return new Response(null, { status: 204, headers });
}

/**
 * Answers a request that shows a status token (the token in the status link of a task). A bearer token that
 * begins like one may be an API key; such a request is answered by the key.
 * @throws Problem `unauthenticated` when the token is altered or has expired; `rate_limited` instead when too
 * many credentials from the sender's address have failed; `invalid_request` for a token beside a key.
 */
export async function answerToken<Q extends z.ZodMiniObject>(
  call: Call,
  { query, answer, byKey }: Linked<Q>,
): Promise<Response> {
  const runtime = await requireRuntime(call.env);
  const link = await linkOf(call, runtime);
  if (link === null) return byKey.handle(call);
  const { id, createdAtS, expiresAtS, recordedAt } = link;
  try {
    const response = await answer({
      request: call.request,
      query: readQuery(query, call.url.searchParams),
      reader: "link",
      read: async () => {
        requireCurrent(expiresAtS, call.env);
        return taskClient(call.env, id).readByLink(createdAtS, recordedAt);
      },
    });
    for (const [name, value] of Object.entries(CROSS_ORIGIN)) response.headers.set(name, value);
    return response;
  } catch (error) {
    const { code, details } = problemFrom(error);
    throw new Problem(code, { ...details, headers: { ...details.headers, ...CROSS_ORIGIN } });
  }
}

/**
 * Checks the status token of a request, and returns the id and the creation times of its task and the time at
 * which the token expires; null when the bearer token is an API key that begins like a status token.
 */
async function linkOf({ request: { headers }, env, url, params }: Call, runtime: Runtime) {
  const inQuery = url.searchParams.get("token");
  if (inQuery !== null && headers.has("Authorization")) throw twoCredentials();
  const token = inQuery ?? bearerOf(headers) ?? "";
  const { data: id = "" } = TaskId.safeParse(params["id"]);
  const times = await timesOfStatusToken(token, id, runtime.keyring.statusKeys);
  if (times === null) {
    if (inQuery !== null) await countFailedCredential(headers, env);
    else if ((await holderOfKey(token, headers, runtime, env)) !== null) return null;
    measureRefusal(env.METRICS);
    throw unauthenticated(
      "The status token was altered or cut off, or belongs to another task or another relay.",
    );
  }
  requireCurrent(times.expiresAtS, env);
  return { id, ...times };
}

/**
 * Checks that a status token has not expired.
 * @throws Problem `unauthenticated` when it has.
 */
function requireCurrent(expiresAtS: number, env: Env): void {
  if (Date.now() < expiresAtS * SECOND_MS) return;
  measureRefusal(env.METRICS);
  const end = new Date(expiresAtS * SECOND_MS).toISOString();
  throw unauthenticated(`The status token expired at ${end}.`);
}

/** Builds the problem for a request with two credentials, of which RFC 6750 §2 permits one. */
function twoCredentials(): Problem {
  const message = "must not be sent together with the header Authorization";
  return invalidRequest([{ path: "/token", message }]);
}
