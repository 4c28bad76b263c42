import { expect, it, vi } from "vitest";
import { AccountObject } from "../../src/account/account-object.ts";
import { TaskObject } from "../../src/task-object/task-object.ts";
import { app } from "../../src/app.ts";
import { isForBrowser } from "../../src/browser-request.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { runtimeOf } from "../../src/config/runtime.ts";
import { hookToken } from "../../src/security/hook-token.ts";
import { sign, signedHeaders } from "../../src/security/signature.ts";
import { NOW, NOW_S } from "../core/builders.ts";
import { isPublicHost } from "./addresses.ts";
import { requireConforming } from "../description/conforms.ts";
import { fuzz } from "./fuzz.ts";
import { requireIssues } from "./refusal.ts";
import { type HookToken, requestsTo, type SentRequest } from "./requests.ts";
import { ENVS, newWorld, RECORDS, type World } from "./world.ts";
import { memberOf } from "./wire.ts";

// Node lacks the base class of Durable Objects; the classes of the objects are the relay's own.
vi.mock("cloudflare:workers", () => ({
  DurableObject: class {
    readonly ctx: unknown;
    readonly env: unknown;

    constructor(ctx: unknown, env: unknown) {
      this.ctx = ctx;
      this.env = env;
    }
  },
}));

const marks = vi.hoisted(() => new Set<unknown>());
vi.mock("cloudflare:durable-objects", () => ({
  retryable: (method: unknown) => marks.add(method),
}));

const ORIGIN = "https://relay.example.com";
const HOOKED = ["ark", "fal", "kie", "kling", "luma", "minimax", "openrouter", "replicate", "vidu"];
/** Codes of problems that may disappear at a later attempt. */
const TEMPORARY: readonly string[] = ["unavailable", "index_disabled"];
const WITH_TASK = new Set(
  "task_exists task_open task_settled conflicting_result series_running no_callback idempotency_key_reused".split(
    " ",
  ),
);

vi.useFakeTimers({ toFake: ["Date"], now: NOW });
for (const method of ["log", "warn", "error"] as const)
  vi.spyOn(console, method).mockImplementation(() => {});
// Adds the globals of workerd that the relay uses and Node lacks.
Reflect.set(globalThis, "Cloudflare", {
  compatibilityFlags: {
    global_fetch_strictly_public: true,
    durable_object_io_tasks_prevent_eviction: true,
  },
});
Reflect.set(crypto.subtle, "timingSafeEqual", (a: ArrayBuffer, b: ArrayBuffer) => {
  const other = new Uint8Array(b);
  return a.byteLength === b.byteLength && new Uint8Array(a).every((byte, i) => byte === other[i]);
});
// Makes every wait end at once.
Reflect.set(globalThis, "scheduler", {
  wait: async (ms: number) => vi.setSystemTime(Date.now() + ms),
});
const sentTo: string[] = [];
Reflect.set(globalThis, "fetch", async (url: string | URL | Request) => {
  sentTo.push(url instanceof Request ? url.url : String(url));
  return Response.json({ id: "cgt-1", status: "running" });
});

const relay = await runtimeOf(ENVS[0] ?? {});
if (!relay.ok) throw new Error("the configuration of the test is not valid");
const { keyring } = relay.value;
const tokens: readonly HookToken[] = await Promise.all(
  HOOKED.flatMap((provider) =>
    [...RECORDS.keys()].map(async (id) => {
      const token = await hookToken(provider, id, keyring.hookKeys);
      return { provider, id, token };
    }),
  ),
);

// The first request of an isolate stores the jurisdiction, whatever its answer is.
for (const env of ENVS) await app.fetch(new Request(`${ORIGIN}/healthz`), env);

async function requireContract(request: SentRequest): Promise<boolean> {
  vi.setSystemTime(NOW);
  sentTo.length = 0;
  const world = newWorld();
  const response = await answer(request);
  await requireSound(request, response);
  await world.settle();
  if (response.status >= 400) requireUnchanged(world);
  requireGuarded(request, response, world);
  requirePublic(sentTo);
  return response.status < 400;
}

async function answer(request: SentRequest): Promise<Response> {
  const { method, path, sender, body, isIndexed } = request;
  const headers = new Headers(request.headers);
  if (sender === "signed") {
    const message = { id: "msg_1", timestamp: String(NOW_S), body: body ?? "" };
    const keys = { callbackSecrets: keyring.eventsSecrets, signingKeys: [] };
    const signed = signedHeaders(message, await sign(message, keys));
    for (const [name, value] of Object.entries(signed)) headers.set(name, value);
  }
  const sent = new Request(ORIGIN + path, { method, headers, body });
  const response: unknown = await Reflect.apply(app.fetch, app, [sent, ENVS[Number(isIndexed)]]);
  if (response instanceof Response) return response;
  throw new Error("the relay did not answer");
}

/** Returns the request without the parts that authenticate its sender. */
function askedBy({ method, path, headers }: SentRequest): Request {
  return new Request(ORIGIN + path, { method, headers });
}

async function requireSound(request: SentRequest, response: Response): Promise<void> {
  const { method } = request;
  const { status, headers } = response;
  const text = await response.text();
  const asked = askedBy(request);
  requireConforming(asked, { status, headers, text: method === "HEAD" ? null : text });
  if (status < 400 || isForBrowser(asked)) return;
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
  if (WITH_TASK.has(code) !== hasTask)
    throw new Error(`${code} ${hasTask ? "has" : "lacks"} the task`);
}

function requireUnchanged(world: World): void {
  const { changed } = world;
  if (changed.length > 0) throw new Error(`a refused request changed ${changed.join(", ")}`);
}

/** Paths that a status link opens, so that browsers may ask which requests to them pages of other sites may send. */
const LINKED_PATH = /^\/v1\/tasks\/[^/?#]+(\/events)?([?#]|$)/;

/**
 * Requires that a request without a right key is refused, unless it is answered with a page of the console or is
 * a browser's `OPTIONS` for a status link, and reaches no object but those that know keys.
 */
function requireGuarded(request: SentRequest, { status }: Response, world: World): void {
  const { sender, isOpen, method, path } = request;
  const isStranger = sender === "wrong" || sender === "nobody";
  if (isOpen || !isStranger) return;
  const isPreflight = method === "OPTIONS" && status === 204 && LINKED_PATH.test(path);
  if (status < 400 && !isPreflight && !isForBrowser(askedBy(request))) {
    throw new Error(`a stranger was answered ${status}`);
  }
  const reached = world.reached.filter((name) => !name.startsWith("account keys:"));
  if (reached.length > 0) throw new Error(`a stranger reached ${reached.join(", ")}`);
}

function requirePublic(urls: readonly string[]): void {
  for (const text of urls) {
    const url = new URL(text);
    if (url.protocol === "https:" && isPublicHost(url.hostname)) continue;
    throw new Error(`a request went to ${text} `);
  }
}

it("the platform may repeat, after a lost connection, only calls of those methods of task and account objects that change nothing when repeated", () => {
  const marked = [TaskObject, AccountObject].map(({ prototype }) =>
    methodsOf(prototype)
      .flatMap(([name, { value }]) => (marks.has(value) ? [name] : []))
      .toSorted(),
  );
  expect(marked).toEqual([
    ["hook", "inspect", "isOpen", "read", "readByLink", "republish", "wake"],
    "charge connectionState describe endSession isSessionEnded knownKind profile recentlyCharged refund useListedKey".split(
      " ",
    ),
  ]);
});

/** Lists the methods of a class and of those that it extends. */
function methodsOf(prototype: object | null): readonly [string, PropertyDescriptor][] {
  if (prototype === null) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return [...own, ...methodsOf(Reflect.getPrototypeOf(prototype))];
}

const isTaskPath = (path: string) => /^\/(?:v1\/tasks|v1\/events|hooks)/.test(path);

fuzz(
  "any request to a route of tasks, events or hooks gets a documented answer, and changes nothing stored if it is refused",
  {
    inputs: requestsTo(
      ROUTES.filter(({ path }) => isTaskPath(path)),
      tokens,
    ),
    check: requireContract,
    cases: 30_000,
    leastShare: 0.02,
  },
);

fuzz(
  "any request to a route other than those of tasks, events and hooks gets a documented answer, and changes nothing stored if it is refused",
  {
    inputs: requestsTo(
      ROUTES.filter(({ path }) => !isTaskPath(path)),
      tokens,
    ),
    check: requireContract,
    cases: 20_000,
    leastShare: 0.02,
  },
);
