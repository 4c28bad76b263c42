import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { Route } from "../../src/api/http/route.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount } from "./accounts.ts";
import { call, callWith, OPERATOR_KEY, ORIGIN, post, ProblemBody, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import {
  aCompletion,
  CALLBACK_URL,
  completed,
  erase,
  redeliver,
  register,
  report,
} from "./tasks.ts";

useClock();

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const ID = "00000000-0000-4000-8000-000000000000";

it("the response to a HEAD request has the status and headers of the same GET request, and no body", async () => {
  aReceiver();
  for (const id of [await register(), await completed()]) {
    const [get, head] = [
      await call(`/v1/tasks/${id}`),
      await call(`/v1/tasks/${id}`, { method: "HEAD" }),
    ];
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const name of ["ETag", "Cache-Control", "Vary", "Retry-After", "Content-Type"]) {
      expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  }
  const unknown = await call(`/v1/tasks/${ID}`, { method: "HEAD" });
  expect([unknown.status, await unknown.text()]).toEqual([404, ""]);
  expect((await call("/healthz", { method: "HEAD" })).status).toBe(200);
});

it("the response to a request body with several faults names each fault by the path of its field and a message", async () => {
  const body = { metadata: 1, deadline_at: -1, credits: 1.5, account: "a b", callbackurl: "x" };
  const { issues } = ProblemBody.parse(await (await post("/v1/tasks", body)).json());
  expect(issues).toEqual([
    { path: "/model", message: "is required" },
    { path: "/account", message: "must be 1 to 64 of A-Z a-z 0-9 _ -" },
    { path: "/metadata", message: "must be an object" },
    { path: "/deadline_at", message: "must be at least 0" },
    { path: "/credits", message: "must be an integer" },
    { path: "/callbackurl", message: "Unknown field" },
  ]);
});

it.each([
  ["a comma too many", '{"model":"m",}', "must be JSON, which it is not from character 14 on"],
  ["the end missing", '{"model":"m"', "must be JSON, which it is not from character 13 on"],
  ["a secret instead of JSON, which the message does not quote", "sk-secret", "must be JSON"],
  ["only a blank", " ", "must be JSON"],
  ["other bytes than UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "must be UTF-8"],
])(
  "a request body with %s is refused as invalid_json, with a message that says what is wrong",
  async (_, body, message) => {
    const { code, issues } = ProblemBody.parse(await (await post("/v1/tasks", body)).json());
    expect({ code, issues }).toEqual({ code: "invalid_json", issues: [{ path: "", message }] });
  },
);

it("a request whose connection breaks in the middle of its body gets 400 invalid_json", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"model":')),
    pull: (controller) => controller.error(new Error("connection lost")),
  });
  const answer = await refusal(await callWith(env, "/v1/tasks", { body }));
  expect(answer).toMatchObject({ status: 400, code: "invalid_json" });
});

it.each([...new Set(ROUTES.map(({ path }) => path))])(
  "%s answers 405 to a method that it does not support, and lists the methods that it supports in the header Allow",
  async (path) => {
    const own = ROUTES.filter((route: Route) => route.path === path);
    const allowed = own.flatMap(({ method, crossOriginHeaders }: Route): string[] => [
      ...(method === "GET" ? [method, "HEAD"] : [method]),
      ...(crossOriginHeaders === undefined ? [] : ["OPTIONS"]),
    ]);
    const refused = METHODS.filter((each) => !allowed.includes(each));
    for (const method of refused) {
      const response = await call(path.replaceAll(/\{\+?\w+\}/g, ID), { method, key: null });
      const allow = (response.headers.get("Allow") ?? "").split(", ").toSorted();
      expect([method, response.status, allow]).toEqual([method, 405, allowed.toSorted()]);
    }
  },
);

it.each([
  "/v2/tasks",
  `/v1/tasks/${ID}/other`,
  "/V1/events",
  "//v1/events",
  "/v1/tasks//redeliver",
  ...new Set(ROUTES.map(({ path }) => `${path.replaceAll(/\{\+?\w+\}/g, ID)}/`)),
])("the unknown path %s gets 404", async (path) => {
  const unknown = { status: 404, code: "not_found" };
  expect(await refusal(await call(`${ORIGIN}${path}`))).toEqual(unknown);
});

/** The routes that read their query; a submission passes it on to the upstream. */
const V1_ROUTES = ROUTES.filter(({ path, query }) => path.startsWith("/v1/") && query !== null);

it.each(V1_ROUTES)(
  "$method $path refuses unknown query parameters, and known ones that occur twice",
  async ({ method, path, query, access }) => {
    const key = access === "listen" ? (await aKey(await anAccount())).key : OPERATOR_KEY;
    const issuesOf = async (asked: string) =>
      ProblemBody.parse(await (await call(asked, { method, key })).json())["issues"];
    const target = path.replaceAll(/\{\+?\w+\}/g, ID);
    // The status token is refused beside a key before the query is read.
    const names = Object.keys(query?.shape ?? {}).filter((name) => name !== "token");
    const message = "Unknown parameter";
    expect(await issuesOf(`${target}?strange=1&strange=2&__proto__=3`)).toEqual(
      ["/strange", "/__proto__"].map((pointer) => ({ path: pointer, message })),
    );
    const twice = names.map((name) => ({ path: `/${name}`, message: "must be given once" }));
    const text = names.map((name) => `${name}=1&${name}=2`).join("&");
    if (names.length > 0) expect(await issuesOf(`${target}?${text}`)).toEqual(twice);
  },
);

it.each([
  [`/hooks/ark/${ID}/${"A".repeat(43)}`, "POST", 404],
  ["/healthz", "GET", 200],
  ["/login", "GET", 200],
  ["/.well-known/jwks.json", "GET", 200],
  ["/metrics", "GET", 501],
])(
  "%s ignores unknown query parameters, and known ones that occur twice",
  async (path, method, status) => {
    expect((await call(`${path}?strange=1&strange=2`, { method })).status).toBe(status);
  },
);

const NO_KEY = { key: null };
const WRONG_KEY = { key: "wrong" };
const TOKEN = "A".repeat(43);
const BROKEN = { ...env, PAUSED: "?" };

type Attempt = (id: string) => Promise<Response>;

/** Requests that are rejected before any object is called, with their statuses. */
const BEFORE_ANY_OBJECT: readonly [string, number, Attempt][] = [
  ["an event with a wrong key", 401, (id) => post("/v1/events", aCompletion(id), WRONG_KEY)],
  ["an unauthenticated read", 401, (id) => call(`/v1/tasks/${id}`, NO_KEY)],
  [
    "an attachment to an unknown provider",
    400,
    (id) => post(`/v1/tasks/${id}/upstream`, { provider: "no", id: "1" }),
  ],
  ["a hook with an invented token", 404, (id) => post(`/hooks/ark/${id}/${TOKEN}`, {})],
  ["a malformed event", 400, (id) => report({ id, status: "done", model: "m" })],
  ["a body over the limit", 413, (id) => post("/v1/events", id.repeat(10_000))],
  ["a read with an invalid wait", 400, (id) => call(`/v1/tasks/${id}?wait=x`)],
  ["an erasure of a malformed id", 404, () => erase("42")],
  ["a wrong method", 405, (id) => call(`/v1/tasks/${id}`, { method: "PUT" })],
  ["an unknown path", 404, (id) => call(`/v1/tasks/${id}/nothing`)],
  [
    "an event for a misconfigured relay",
    503,
    (id) => callWith(BROKEN, "/v1/events", { body: aCompletion(id, { model: "m" }) }),
  ],
];

/** Requests that the object rejects because it has no record, with their statuses. */
const BY_THE_OBJECT: readonly [string, number, Attempt][] = [
  ["a read of an unknown task", 404, (id) => call(`/v1/tasks/${id}`)],
  ["an event without a model for an unknown task", 404, (id) => report(aCompletion(id))],
  ["a redelivery of an unknown task", 404, (id) => redeliver(id, { callback_url: CALLBACK_URL })],
  [
    "a registration with a past deadline",
    400,
    (id) => post("/v1/tasks", { id, model: "m", deadline_at: 5 }),
  ],
];

it.each(BEFORE_ANY_OBJECT)(
  "%s, which is answered with %i, creates no Durable Object and changes no task",
  async (_, status, attempt) => {
    const received = aReceiver();
    const id = await completed();
    const before = (await listDurableObjectIds(env.TASKS)).length;
    await expectUnchanged(id, async () => {
      for (const each of [id, crypto.randomUUID()]) {
        expect((await attempt(each)).status).toBe(status);
      }
    });
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before);
    expect(received).toHaveLength(1);
  },
);

it.each(BY_THE_OBJECT)(
  "%s, which is answered with %i, stores nothing and sets no alarm",
  async (_, status, attempt) => {
    const received = aReceiver();
    const id = crypto.randomUUID();
    expect((await attempt(id)).status).toBe(status);
    expect(await stored(id)).toEqual(NOTHING);
    expect(received).toEqual([]);
  },
);
