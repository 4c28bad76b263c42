import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import type { Route } from "../../src/api/http/route.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { hooked } from "../worker/hooked.ts";
import { anOutside, answering } from "../worker/outside.ts";
import { call } from "../worker/client.ts";
import { START } from "../worker/clock.ts";
import { aCompletion, CALLBACK_URL, completed, register } from "../worker/tasks.ts";
import { indexed } from "./support.ts";

/** A path for the route, and what to send there, so that it succeeds. */
interface Example {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const nameOf = ({ method, path }: Pick<Route, "method" | "path">) => `${method} ${path}`;

/** A successful request for each route of the table. */
const EXAMPLES: Readonly<Record<string, () => Promise<Example>>> = {
  "POST /v1/tasks": async () => ({ path: "/v1/tasks", body: { model: "m", provider: "ark" } }),
  "POST /v1/tasks/{id}/upstream": async () => ({
    path: `/v1/tasks/${await register({ provider: "ark" })}/upstream`,
    body: { provider: "ark", id: "cgt-1" },
  }),
  "GET /v1/tasks": async () => ({ path: "/v1/tasks" }),
  "GET /v1/tasks/{id}": async () => ({ path: `/v1/tasks/${await register()}` }),
  "POST /v1/tasks/{id}/redeliver": async () => ({
    path: `/v1/tasks/${await completed()}/redeliver`,
    body: {},
  }),
  "POST /v1/tasks/{id}/cancel": async () => ({
    path: `/v1/tasks/${await register()}/cancel`,
    body: {},
  }),
  "DELETE /v1/tasks/{id}": async () => ({ path: `/v1/tasks/${await completed()}` }),
  "POST /v1/events": async () => ({ path: "/v1/events", body: aCompletion(await register()) }),
  "POST /hooks/{provider}/{id}/{token}": async () => {
    const { hookUrl } = await hooked({ provider: "ark", bindings: env });
    return { path: new URL(hookUrl).pathname, body: { id: "cgt-1", status: "running" } };
  },
  "POST /v1/callbacks/test": async () => ({
    path: "/v1/callbacks/test",
    body: { callback_url: CALLBACK_URL },
  }),
  "POST /v1/accounts": async () => ({ path: "/v1/accounts", body: { id: crypto.randomUUID() } }),
  "GET /v1/accounts": async () => ({ path: "/v1/accounts" }),
  "GET /v1/accounts/{account}": () => ofAccount(""),
  "POST /v1/accounts/{account}/grants": () => ofAccount("/grants", { reference: "one", amount: 1 }),
  "GET /v1/accounts/{account}/grants": () => ofAccount("/grants"),
  "GET /v1/accounts/{account}/entries": () => ofAccount("/entries"),
  "POST /v1/accounts/{account}/keys": () => ofAccount("/keys", {}),
  "GET /v1/accounts/{account}/keys": () => ofAccount("/keys"),
  "DELETE /v1/accounts/{account}/keys/{key}": async () => {
    const account = await anAccount();
    return { path: `/v1/accounts/${account}/keys/${(await aKey(account)).id}` };
  },
  "GET /v1/accounts/{account}/signing-secrets": () => ofAccount("/signing-secrets"),
  "POST /v1/accounts/{account}/signing-secrets": () => ofAccount("/signing-secrets", {}),
  "GET /v1/signing-secrets": async () => ({ path: "/v1/signing-secrets" }),
  "GET /.well-known/jwks.json": async () => ({ path: "/.well-known/jwks.json" }),
  "GET /docs/errors": async () => ({ path: "/docs/errors" }),
  "GET /v1/stats": async () => ({ path: "/v1/stats" }),
  "GET /metrics": async () => ({ path: "/metrics" }),
  "POST /v1/redeliveries": async () => ({
    path: "/v1/redeliveries?dry_run=true&callback=failed",
    body: {},
    headers: { "Idempotency-Key": "headers" },
  }),
  "POST /v1/reindex": async () => ({ path: "/v1/reindex", body: { ids: [await register()] } }),
  "GET /healthz": async () => ({ path: "/healthz" }),
};

/** Routes of which anyone may keep the answer. */
const PUBLIC = ["GET /.well-known/jwks.json"];
const FOREIGN = { Origin: "https://elsewhere.example.net" };

async function ofAccount(rest: string, body?: object): Promise<Example> {
  return { path: `/v1/accounts/${await anAccount()}${rest}`, ...(body && { body }) };
}

function exampleOf(name: string): Promise<Example> {
  const example = EXAMPLES[name];
  if (example === undefined) throw new Error(`there is no example of ${name}`);
  return example();
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  anOutside().on(CALLBACK_URL, answering("thank you"));
  await indexed(await completed());
});

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** What every answer of the relay says to the browsers and caches on its way. */
function expectGuarded({ headers }: Response): void {
  expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
  expect(headers.get("X-Frame-Options")).toMatch(/^(?:DENY|SAMEORIGIN)$/);
  expect(headers.get("Referrer-Policy")).toBe("no-referrer");
  expect(headers.get("Cross-Origin-Resource-Policy")).toBe("same-origin");
  expect(headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
  const [, maxAgeS] = /^max-age=(\d+)/.exec(headers.get("Strict-Transport-Security") ?? "") ?? [];
  expect(Number(maxAgeS)).toBeGreaterThanOrEqual(15_552_000);
  expect(headers.get("X-Request-Id")).toMatch(/^[\w-]{8,}$/);
  const names = [...headers.keys()].join(" ");
  expect(names).not.toMatch(/access-control-|set-cookie|x-powered-by|\bserver\b|\bvia\b/);
  const isPage = headers.get("Content-Type")?.startsWith("text/html") === true;
  if (isPage) {
    const policy = headers.get("Content-Security-Policy") ?? "";
    expect(policy).toMatch(/default-src '(?:none|self)'/);
    expect(policy).toMatch(/frame-ancestors '(?:none|self)'/);
    expect(policy).not.toContain("unsafe-");
  }
}

function expectPrivate({ headers }: Response): void {
  expect(headers.get("Cache-Control")).toMatch(/^(?:no-store|private, no-(?:store|cache))$/);
}

describe("the headers of every route", () => {
  it("are looked at below", () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(ROUTES.map(nameOf).toSorted());
  });

  it.each(ROUTES.map((route) => [nameOf(route), route] as const))(
    "guard what it answers, to anyone: %s",
    async (name, { method, access }) => {
      const { path, body, headers } = await exampleOf(name);
      const sent = { method, headers: { ...FOREIGN, ...headers } };
      const account = await anAccount();
      const { key } = await aKey(account);
      const strangers = [null, "not-an-operator-key", key];
      for (const stranger of access === "anyone" ? [] : strangers) {
        const response = await call(path, { ...sent, body, key: stranger });
        if (stranger !== key) expect(response.status).toBe(401);
        expectGuarded(response);
        expectPrivate(response);
      }
      const wrongMethod = await call(path, { ...sent, method: "PATCH", body });
      expect(wrongMethod.status).toBe(405);
      expectGuarded(wrongMethod);

      const response = await call(path, { ...sent, body });
      expect(response.status).toBeLessThan(300);
      expectGuarded(response);
      if (PUBLIC.includes(name)) {
        expect(response.headers.get("Cache-Control")).toMatch(/^public, max-age=\d+$/);
      } else {
        expectPrivate(response);
      }
    },
  );

  it.each(["/", "/docs", "/openapi.json", "/dashboard", "/favicon.ico", "/nowhere"])(
    "guard pages, and the lack of them: %s",
    async (path) => {
      const response = await call(path, { key: null, headers: FOREIGN });
      expect([200, 302, 404]).toContain(response.status);
      expectGuarded(response);
    },
  );
});

describe("another site's script", () => {
  it.each([...new Set(ROUTES.map(({ path }) => path))])("is not let in: %s", async (path) => {
    const asked = path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000");
    const preflight = {
      ...FOREIGN,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization",
    };
    const response = await call(asked, { method: "OPTIONS", key: null, headers: preflight });
    expect(response.status).toBe(405);
    expectGuarded(response);
  });
});

describe("X-Request-Id", () => {
  it.each(["<script>alert(1)</script>", "a b", '{"event":"x"}', "x".repeat(300)])(
    "is the relay's own when the caller's is not a plain word: %s",
    async (id) => {
      const response = await call("/healthz", { headers: { "X-Request-Id": id } });
      expect(response.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});
