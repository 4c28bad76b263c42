import { app } from "../../src/app.ts";
import { PROBLEMS } from "../../src/api/http/problem.ts";
import { hookToken } from "../../src/security/hook-token.ts";
import type { HmacSecret } from "../../src/security/hmac.ts";
import { sign, signedHeaders } from "../../src/security/signature.ts";
import { runtimeOf } from "../../src/config/runtime.ts";
import { NOW, NOW_S } from "../core/builders.ts";
import { isPublicHost } from "./addresses.ts";
import type { Border } from "./fuzz.ts";
import { resetClock, standIn } from "./platform.ts";
import { requireIssues } from "./refusal.ts";
import { aRequest, type SentRequest } from "./requests.ts";
import { ENVS, newWorld, RECORDS, type World } from "./world.ts";
import { memberOf } from "./wire.ts";

const ORIGIN = "https://relay.example.com";
const HOOKED = ["ark", "fal", "kie", "kling", "luma", "minimax", "openrouter", "replicate", "vidu"];
/** Problems that a later attempt may not meet. */
const TEMPORARY: readonly string[] = ["unavailable", "index_disabled"];
const WITH_TASK: readonly string[] = [
  "task_exists",
  "task_open",
  "task_settled",
  "conflicting_result",
  "series_running",
  "no_callback",
  "idempotency_key_reused",
];

standIn();
const tokens = new Map<string, string>();
let eventsSecrets: readonly HmacSecret[] = [];
const sentTo: string[] = [];
Reflect.set(globalThis, "fetch", async (url: string | URL | Request) => {
  sentTo.push(url instanceof Request ? url.url : String(url));
  return Response.json({ id: "cgt-1", status: "running" });
});

const relay = await runtimeOf(ENVS[0] ?? {});
if (!relay.ok) throw new Error("the configuration of the test is not valid");
eventsSecrets = relay.value.keyring.eventsSecrets;
for (const name of HOOKED) {
  for (const id of RECORDS.keys()) {
    tokens.set(`${name} ${id}`, await hookToken(name, id, relay.value.keyring.hookKeys));
  }
}

/** Whatever is sent to the routes whose path `isWanted`, the answer keeps the contract. */
export function requests(
  promise: string,
  cases: number,
  isWanted: (path: string) => boolean,
): Border<SentRequest> {
  return {
    promise,
    cases,
    leastShare: 0.02,
    generate: (choices) => aRequest(choices, isWanted, tokens),
    check: async (sent) => {
      resetClock();
      sentTo.length = 0;
      const world = newWorld();
      const response = await answer(sent);
      await requireSound(sent, response);
      await world.settle();
      if (response.status >= 400) requireUnchanged(world);
      requireGuarded(sent, response, world);
      requirePublic(sentTo);
      return response.status < 400;
    },
  };
}

async function answer({
  method,
  path,
  sender,
  headers,
  body,
  isIndexed,
}: SentRequest): Promise<Response> {
  const sent = new Headers(headers);
  if (sender === "signed") {
    const message = { id: "msg_1", timestamp: String(NOW_S), body: body ?? "" };
    const keys = { callbackSecrets: eventsSecrets, signingKeys: [] };
    const signed = signedHeaders(message, await sign(message, keys));
    for (const [name, value] of Object.entries(signed)) sent.set(name, value);
  }
  const request = new Request(ORIGIN + path, { method, headers: sent, body });
  const response: unknown = await Reflect.apply(app.fetch, app, [request, ENVS[Number(isIndexed)]]);
  if (response instanceof Response) return response;
  throw new Error("it did not answer");
}

async function requireSound({ method }: SentRequest, response: Response): Promise<void> {
  const { status, headers } = response;
  const text = await response.text();
  if (!headers.get("X-Request-Id")) throw new Error("the answer has no X-Request-Id");
  if (status < 400) return;
  const isProblem = headers.get("Content-Type") === "application/problem+json";
  if (!isProblem) throw new Error(`${status}: ${text}`);
  if (method !== "HEAD") requireProblem(JSON.parse(text), response);
}

function requireProblem(problem: unknown, { status, headers }: Response): void {
  const code = String(memberOf(problem, "code"));
  const isKnown = memberOf(memberOf(PROBLEMS, code), "status") === status;
  const isTemporary = status < 500 || TEMPORARY.includes(code);
  if (!isKnown || memberOf(problem, "status") !== status || !isTemporary) {
    throw new Error(`${status}: ${JSON.stringify(problem)}`);
  }
  if (status === 400) requireIssues(memberOf(problem, "issues"));
  const needed = { 401: "WWW-Authenticate", 405: "Allow", 503: "Retry-After" }[status];
  if (needed !== undefined && !headers.has(needed)) throw new Error(`${code} without ${needed}`);
  const hasTask = memberOf(problem, "task") !== undefined;
  if (WITH_TASK.includes(code) !== hasTask) throw new Error(`${code}, and its task: ${hasTask}`);
}

function requireUnchanged(world: World): void {
  const { changed } = world;
  if (changed.length > 0) throw new Error(`refused, and yet changed: ${changed.join(", ")}`);
}

/** Without a right key no object is asked, but the one that would know the key. */
function requireGuarded({ sender, isOpen }: SentRequest, { status }: Response, world: World): void {
  const isStranger = sender === "wrong" || sender === "nobody";
  if (isOpen || !isStranger) return;
  if (status < 400) throw new Error(`a stranger was answered ${status}`);
  const reached = world.reached.filter((name) => !name.startsWith("account key:"));
  if (reached.length > 0) throw new Error(`a stranger reached ${reached.join(", ")}`);
}

function requirePublic(urls: readonly string[]): void {
  for (const text of urls) {
    const url = new URL(text);
    if (url.protocol === "https:" && isPublicHost(url.hostname)) continue;
    throw new Error(`a request went to ${text} at ${NOW}`);
  }
}
