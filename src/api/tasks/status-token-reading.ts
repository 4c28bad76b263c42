import { SECOND_MS } from "../../core/time.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { timesOfStatusToken } from "../../security/status-token.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { bearerOf, holderOfKey, unauthenticated } from "../http/auth.ts";
import { FOR_ANY_ORIGIN, orProblemWith } from "../http/cross-origin.ts";
import { TaskId } from "../http/fields.ts";
import { invalidRequest, type Problem } from "../http/problem.ts";
import { countFailedCredential, countLinkRequest } from "../http/rate-limit.ts";
import { requireRuntime, type RouteRequest } from "../http/route.ts";
import { LinkReaders } from "./link-readers.ts";
import type { AnswerLink, LinkRequest, Reading } from "./reading.ts";
import { taskClient } from "./task-client.ts";
import { TaskWatch } from "./task-watch.ts";

const WRONG_TOKEN =
  "The status token was altered or cut off, or belongs to another task or another relay.";

/** The readers in this isolate that are waiting with a status link. */
const linkReaders = new LinkReaders();

/**
 * Headers that let pages of any site read the response, and that keep the request's URL, which may contain the token,
 * out of the `Referer` headers of browsers.
 */
const CROSS_ORIGIN = {
  ...FOR_ANY_ORIGIN,
  "Access-Control-Expose-Headers": "ETag, Retry-After",
  "Referrer-Policy": "no-referrer",
};

/**
 * Answers a request with a status token (the token in the status link of a task), and lets pages of other sites read
 * the response.
 * @returns null when the bearer token is an API key that only begins like a status token.
 * @throws Problem when the token is refused. Pages of other sites can read this problem, and any that `answer` throws.
 */
export async function answerToken(
  { request: { headers }, env, url, params }: RouteRequest<LinkRequest["params"]>,
  answer: AnswerLink,
): Promise<Response | null> {
  const request = { env, url, params, headers };
  const reading = await readingOf(request);
  if (reading === null) return null;
  const response = await orProblemWith(CROSS_ORIGIN, answer(reading, request));
  for (const [name, value] of Object.entries(CROSS_ORIGIN)) response.headers.set(name, value);
  return response;
}

/**
 * Returns the access to a task that a request has by its status token.
 * @throws Problem as `readingOf` does, and `unauthenticated` when there is an API key instead of the token.
 */
export async function readingByToken(request: LinkRequest): Promise<Reading> {
  const reading = await readingOf(request);
  if (reading === null) throw unauthenticated(WRONG_TOKEN);
  return reading;
}

/**
 * Returns the access to a task that a request has by its status token.
 * @returns null when the bearer token is an API key that only begins like a status token.
 * @throws Problem `unauthenticated` when the token is altered or has expired; `rate_limited` when too many credentials
 * from the sender's address have failed, or when one address uses the status link too often (pages of other sites can
 * read the latter); `invalid_request` when the request has a token and a key.
 */
async function readingOf(request: LinkRequest): Promise<Reading | null> {
  const { env } = request;
  const link = await linkOf(request, requireRuntime(env));
  if (link === null) return null;
  const { id, createdAtS, expiresAtS, recordedAt } = link;
  const requireLink = async () => requireCurrent(expiresAtS, env);
  const read = async () => {
    await requireLink();
    return await taskClient(env, id).readByLink(createdAtS, recordedAt);
  };
  const watch = (maxMs: number) => watchByLink(env, id, maxMs);
  return { reader: "link", read, requireCurrent: requireLink, watch };
}

/**
 * Watches a task for a reader with a status token.
 * @returns null when too many readers with a status token already watch this task in this isolate.
 */
async function watchByLink(env: Env, id: string, maxMs: number): Promise<TaskWatch | null> {
  const now = Date.now();
  const leave = linkReaders.enter(id, now, now + maxMs);
  return leave === null ? null : await TaskWatch.open(env, id, "link", leave);
}

/**
 * Checks the status token of a request.
 * @returns the id and the creation times of the token's task, and when the token expires; null when the bearer token is
 * an API key that only begins like a status token.
 */
async function linkOf({ headers, env, url, params }: LinkRequest, runtime: Runtime) {
  const inQuery = url.searchParams.get("token");
  if (inQuery !== null && headers.has("Authorization")) throw twoCredentials();
  const token = inQuery ?? bearerOf(headers) ?? "";
  const { data: id = "" } = TaskId.safeParse(params["id"]);
  const times = await timesOfStatusToken(token, id, runtime.keyring.statusKeys);
  if (times === null) {
    if (inQuery !== null) await countFailedCredential(headers, env);
    else if ((await holderOfKey(token, headers, runtime, env)) !== null) return null;
    measureRefusal(env.METRICS);
    throw unauthenticated(WRONG_TOKEN);
  }
  requireCurrent(times.expiresAtS, env);
  await orProblemWith(CROSS_ORIGIN, countLinkRequest(id, headers, env));
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

/** Returns the problem for a request with two credentials, where RFC 6750 §2 permits only one. */
function twoCredentials(): Problem {
  const message = "must not be sent together with the header Authorization";
  return invalidRequest([{ path: "/token", message }]);
}
