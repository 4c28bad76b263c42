import { env } from "../../src/startup.ts";
import { secureHeaders } from "hono/secure-headers";
import { Hono } from "hono/tiny";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { answerRequest } from "../../src/app.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { ready } from "../../src/index-db/database.ts";
import type { Route } from "../../src/api/http/route.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, ORIGIN } from "../worker/client.ts";
import { START } from "../worker/clock.ts";
import { hooked } from "../worker/hooked.ts";
import { anOutside, answering } from "../worker/outside.ts";
import { aCompletion, CALLBACK_URL, completed, register } from "../worker/tasks.ts";
import { db, indexed } from "./support.ts";

/** A request to a route, made so that it succeeds. */
interface Example {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The operator's by default. */
  readonly key?: string;
}

const nameOf = ({ method, path }: Pick<Route, "method" | "path">) => `${method} ${path}`;

const ENDPOINT = { url: CALLBACK_URL, own_secret: true };
const OFFER = { connection: "ark", models: ["*"] };

/** Bodies of the routes that need one; the others take none or any object. */
const BODIES: Readonly<Record<string, (task: string) => object>> = {
  "POST /v1/tasks": () => ({ model: "m", provider: "ark" }),
  "POST /v1/tasks/{id}/upstream": () => ({ provider: "ark", id: "cgt-1" }),
  "POST /v1/tasks/{id}/verify": () => ({ headers: {}, body: "" }),
  "POST /v1/events": (task) => aCompletion(task),
  "POST /v1/callbacks/test": () => ({ callback_url: CALLBACK_URL }),
  "POST /v1/accounts": () => ({ id: crypto.randomUUID() }),
  "POST /v1/accounts/{account}/grants": () => ({ reference: "one", amount: 1 }),
  "POST /v1/accounts/{account}/adjustments": () => ({ reference: "a", amount: -1, reason: "r" }),
  "PUT /v1/offers/{name}": () => OFFER,
  "PUT /v1/accounts/{account}/endpoints/{endpoint}": () => ENDPOINT,
  "PUT /v1/endpoints/{endpoint}": () => ENDPOINT,
  "POST /mcp": () => ({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  "POST /v1/reindex": (task) => ({ ids: [task] }),
  "POST /v1/wake": (task) => ({ ids: [task] }),
};
const NEEDS_SETTLED_TASK = [
  "GET /v1/tasks/{id}/events",
  "GET /v1/tasks/{id}/attempts/{number}/request",
  "POST /v1/tasks/{id}/verify",
  "POST /v1/tasks/{id}/redeliver",
  "DELETE /v1/tasks/{id}",
  "DELETE /v1/tasks/{id}/outputs",
  "DELETE /v1/tasks/{id}/outputs/{output}",
];

async function exampleOf({ method, path }: Route): Promise<Example> {
  const name = nameOf({ method, path });
  if (path.startsWith("/hooks/")) {
    const { hookUrl } = await hooked({ provider: "ark", bindings: env });
    return { path: new URL(hookUrl).pathname, body: { id: "cgt-1", status: "running" } };
  }
  if (path === "/v1/redeliveries") {
    const headers = { "Idempotency-Key": "headers" };
    return { path: `${path}?dry_run=true&callback=failed`, body: {}, headers };
  }
  if (path === "/v1/listen") {
    const { key } = await aKey(await anAccount());
    return { path, headers: { Upgrade: "websocket" }, key };
  }
  const isSettled = NEEDS_SETTLED_TASK.includes(name);
  const task = isSettled ? await completed() : await register({ provider: "ark" });
  const account = await anAccount();
  const filled = path
    .replace("{id}", task)
    .replace("{account}", account)
    .replace("{host}", "paused.example.net")
    .replace("{connection}", "nobody")
    .replace("{+path}", "jobs")
    .replace("{number}", "1")
    .replace("{output}", "1")
    .replace("{key}", (await aKey(account)).id)
    .replace("{endpoint}", await anEndpoint(path, account))
    .replace("{offer}", "nothing");
  const hasBody = method === "POST" || BODIES[name] !== undefined;
  return { path: await withOffer(filled), ...(hasBody && { body: BODIES[name]?.(task) ?? {} }) };
}

/** Creates an endpoint if the path has a place for its name. @returns the name. */
async function anEndpoint(path: string, account: string): Promise<string> {
  const [base = "", rest] = path.replace("{account}", account).split("{endpoint}");
  if (rest !== undefined) await call(`${base}orders`, { method: "PUT", body: ENDPOINT });
  return "orders";
}

/** Returns a path with the name and the version of a new offer, if it has places for them. */
async function withOffer(path: string): Promise<string> {
  if (!path.includes("{name}")) return path;
  const name = `offer-${crypto.randomUUID()}`;
  const stored = await call(`/v1/offers/${name}`, { method: "PUT", body: OFFER });
  const { version } = z.object({ version: z.int() }).parse(await stored.json());
  return path.replace("{name}", name).replace("{version}", `${version}`);
}

/** Routes that answer 404 in these tests, which have no upstream and keep no outputs. */
const UNANSWERED = [
  "POST /v1/submit/{connection}/{+path}",
  "POST /v1/submit/{offer}",
  "GET /v1/submit/{connection}/{+path}",
  "DELETE /v1/submit/{connection}/{+path}",
  "PUT /v1/submit/{connection}/{+path}",
  "DELETE /v1/tasks/{id}/outputs/{output}",
];
/** Routes whose answers anyone may cache. */
const PUBLIC = ["GET /.well-known/jwks.json"];
/** Origin of a page of another site. */
const FOREIGN = { Origin: "https://elsewhere.example.net" };

let securityHeaders: Readonly<Record<string, string>>;

beforeAll(async () => {
  securityHeaders = await headersOfHono();
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  anOutside().on(CALLBACK_URL, answering("thank you"));
  await ready(db);
  await indexed(await completed());
});

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Returns the security headers that the middleware of hono sets. */
async function headersOfHono(): Promise<Readonly<Record<string, string>>> {
  const app = new Hono();
  app.use(secureHeaders({ referrerPolicy: "same-origin", xFrameOptions: "DENY" }));
  app.get("/", ({ body }) => body(null));
  return Object.fromEntries((await app.request("/")).headers);
}

/**
 * Requires the security headers of every answer, and of an answer of the console all those that the middleware of hono sets.
 * @param isForPages true for an answer that pages of other sites may read.
 */
function expectGuarded({ headers, status }: Response, isForPages = false): void {
  expect(Object.fromEntries(headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=15552000; includeSubDomains",
    "x-request-id": expect.stringMatching(/^[\w-]{8,}$/),
  });
  const names = [...headers.keys()].join(" ");
  expect(names).not.toMatch(/set-cookie|x-powered-by|\bserver\b|\bvia\b/);
  if (!isForPages) expect(names).not.toMatch(/access-control-/);
  const type = headers.get("Content-Type") ?? "";
  const isOfConsole = type.startsWith("text/html") || status === 303;
  if (isOfConsole) {
    expect(Object.fromEntries(headers)).toMatchObject({
      ...securityHeaders,
      "cross-origin-opener-policy": "same-origin",
    });
  } else if (/json/.test(type)) expect(headers.has("Cross-Origin-Opener-Policy")).toBe(false);
  if (!type.startsWith("text/html")) return;
  const policy = headers.get("Content-Security-Policy") ?? "";
  expect(policy).toMatch(/^(?=.*default-src 'none')(?=.*frame-ancestors 'none')/);
  expect(policy).not.toContain("unsafe-");
}

function expectPrivate({ headers }: Response): void {
  expect(headers.get("Cache-Control")).toMatch(/^(?:no-store|private, no-(?:store|cache))$/);
}

/** Paths that pages of other sites may call: with a status token, by the link of an output, as clients of MCP. */
const OPEN = ["/v1/tasks/{id}", "/v1/tasks/{id}/events", "/outputs/{id}/{output}/{file}", "/mcp"];

/** The routes whose answers no page of another site may use; test/outputs/links.test.ts has the headers of the other one. */
const OWN_ROUTES = ROUTES.filter(({ id }) => id !== "readOutput");

it.each(OWN_ROUTES.map((route) => [nameOf(route), route] as const))(
  "%s answers the operator, an account and requests without a valid key with the relay's security headers",
  async (name, route) => {
    const { method, access, id } = route;
    const isForPages = id === "callTools";
    const { path, body, headers, key: permitted } = await exampleOf(route);
    const sent = { method, headers: { ...FOREIGN, ...headers } };
    const account = await anAccount();
    const { key } = await aKey(account);
    const strangers = [null, "not-an-operator-key", key];
    for (const stranger of access === "anyone" ? [] : strangers) {
      const response = await call(path, { ...sent, body, key: stranger });
      if (stranger !== key) expect(response.status).toBe(401);
      expectGuarded(response, isForPages);
      expectPrivate(response);
    }
    // workerd sends every request with the header Upgrade as GET.
    const wrongMethod = await call(path, { method: "PATCH", headers: FOREIGN, body });
    expect(wrongMethod.status).toBe(405);
    expectGuarded(wrongMethod, OPEN.includes(route.path));
    expectPrivate(wrongMethod);

    const response = await call(path, {
      ...sent,
      body,
      ...(permitted !== undefined && { key: permitted }),
    });
    if (UNANSWERED.includes(name)) expect(response.status).toBe(404);
    else expect(response.status).toBeLessThan(300);
    response.webSocket?.accept();
    response.webSocket?.close();
    expectGuarded(response, isForPages);
    if (PUBLIC.includes(name)) {
      expect(response.headers.get("Cache-Control")).toMatch(/^public, max-age=\d+$/);
    } else {
      expectPrivate(response);
    }
  },
);

it.each(["/", "/dashboard", "/favicon.ico", "/nowhere"])(
  "GET %s, which is not a route of the API, answers a request without a key with the relay's security headers",
  async (path) => {
    const response = await call(path, { key: null, headers: FOREIGN });
    expect([200, 302, 404]).toContain(response.status);
    expectGuarded(response);
  },
);

it("when a page of the console redirects to the login, the redirect has the security headers of a page", async () => {
  const response = await answerRequest(new Request(`${ORIGIN}/tasks`), env);
  expect(response.status).toBe(303);
  expectGuarded(response);
});

it.each([...new Set(ROUTES.map(({ path }) => path))].filter((path) => !OPEN.includes(path)))(
  "a CORS preflight request to %s is answered with 405 and without CORS headers",
  async (path) => {
    const asked = path.replaceAll(/\{\+?\w+\}/g, "00000000-0000-4000-8000-000000000000");
    const preflight = {
      ...FOREIGN,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization",
    };
    const response = await call(asked, { method: "OPTIONS", key: null, headers: preflight });
    expect(response.status).toBe(405);
    expectGuarded(response);
  },
);

it.each(["<script>alert(1)</script>", "a b", '{"event":"x"}', "x".repeat(300)])(
  "the relay ignores the invalid X-Request-Id %j and gives each request with it a new id of its own",
  async (id) => {
    const send = () => call("/healthz", { headers: { "X-Request-Id": id } });
    const ids = [await send(), await send()].map(({ headers }) => headers.get("X-Request-Id"));
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(ids[1]).toMatch(/^[0-9a-f-]{36}$/);
    expect(ids[0]).not.toBe(ids[1]);
  },
);

it.each(["a-B_9=", "x".repeat(255)])(
  "the answer to a request with the valid X-Request-Id %j has the same X-Request-Id",
  async (id) => {
    const { headers } = await call("/healthz", { headers: { "X-Request-Id": id } });
    expect(headers.get("X-Request-Id")).toBe(id);
  },
);
