import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { answerBound } from "../../src/service-binding.ts";
import { conforming } from "../description/conforms.ts";
import { aKey, anAccount, entriesOf } from "./accounts.ts";
import {
  aRequest,
  OPERATOR_KEY,
  ORIGIN,
  type Message,
  refusal,
  UNAUTHENTICATED,
} from "./client.ts";
import { useClock } from "./clock.ts";
import { loggedBy } from "./logged.ts";
import { restart } from "./objects.ts";
import { started } from "./started.ts";
import { anArk, ARK_PATH, BINDINGS, BODY, JOB, readSubmitted, sentToArk } from "./submitted.ts";
import { CALLBACK_URL, read, register, taskOf } from "./tasks.ts";

useClock();

const SUBMIT = `/v1/submit/ark${ARK_PATH}`;
const UNADDRESSED = { ...BINDINGS, PUBLIC_URL: "" };
const Registered = z.looseObject({ id: z.string(), status_url: z.string().optional() });

interface BoundMessage extends Message {
  /** Origin of the URL that the other Worker calls. */
  readonly origin?: string;
  readonly bindings?: object;
}

/** Sends a request as another Worker does over a service binding, by default without a key. */
async function bound(path: string, message: BoundMessage = {}): Promise<Response> {
  const { origin = "https://relay", bindings = env, ...rest } = message;
  const request = new Request(`${origin}${path}`, aRequest("/", { key: null, ...rest }));
  const isolate: unknown = await started(bindings);
  const answer: unknown = await Reflect.apply(answerBound, null, [request, isolate]);
  if (answer instanceof Response) return answer;
  throw new Error("the relay did not answer");
}

it('over a service binding, a Worker without a key may register, read and cancel tasks as an operator whose key has the name "binding"', async () => {
  const answer = await bound("/v1/tasks", { body: { model: "seedance" } });
  expect(answer.status).toBe(201);
  const { id } = await taskOf(answer);
  const request = aRequest(`/v1/tasks/${id}`);
  expect(await (await conforming(request, await bound(`/v1/tasks/${id}`))).json()).toEqual(
    await read(id),
  );
  expect(await taskOf(await bound(`/v1/tasks/${id}/cancel`, { method: "POST" }))).toMatchObject({
    status: "failed",
    error: { code: "canceled" },
  });
  const account = await anAccount();
  const grant = { body: { amount: 5, reference: "1" } };
  expect((await bound(`/v1/accounts/${account}/grants`, grant)).status).toBe(201);
  expect(await entriesOf(account)).toMatchObject([{ booked_by: "binding" }]);
});

it("a submission that a Worker sends over a service binding without a key goes to the upstream with the relay's key for it, and with a hook URL that begins with PUBLIC_URL", async () => {
  const outside = anArk();
  const id = crypto.randomUUID();
  await restart(id, BINDINGS);
  const headers = { "Content-Type": "application/json", "Relay-Task-Id": id };
  const body = new Blob([BODY]).stream();
  const answer = await bound(SUBMIT, { body, headers, bindings: BINDINGS });
  expect([answer.status, await answer.json()]).toEqual([200, { id: JOB }]);
  expect(answer.headers.get("Relay-Status-Url")).toContain(`${ORIGIN}/v1/tasks/${id}?token=`);
  const sent = sentToArk(outside);
  expect(sent.headers).toMatchObject({ authorization: "Bearer test-only-ark-key" });
  expect(sent.body).toContain(`${ORIGIN}/hooks/ark/${id}/`);
  expect(await readSubmitted(id)).toMatchObject({ upstream: { id: JOB } });
});

it.each(["https://relay", "http://127.0.0.1:8787", "https://attacker.example"])(
  "without PUBLIC_URL, no link, hook URL or problem type begins with the origin %s at which another Worker calls the relay over a service binding, although its request says that it came from Cloudflare",
  async (origin) => {
    const outside = anArk();
    const send = (path: string, message: Message) =>
      bound(path, { ...message, origin, bindings: UNADDRESSED, cf: { colo: "FRA" } });
    const registered = await send("/v1/tasks", { body: { model: "seedance" } });
    expect(registered.status).toBe(201);
    expect(Registered.parse(await registered.json()).status_url).toBeUndefined();

    const sandbox = { body: '{"model": "sandbox/ok"}' };
    const submitted = await send("/v1/submit/sandbox/jobs", sandbox);
    expect([submitted.status, submitted.headers.get("Relay-Status-Url")]).toEqual([200, null]);

    const hooked = await send("/v1/tasks", { body: { model: "seedance", provider: "ark" } });
    const NOT_CONFIGURED = { type: "/docs/errors#not_configured", status: 503 };
    expect(await hooked.json()).toMatchObject(NOT_CONFIGURED);
    expect(await (await send(SUBMIT, { body: BODY })).json()).toMatchObject(NOT_CONFIGURED);
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

it("over a service binding, a request with an account's key reaches only the account's tasks, and one with an operator key of the role read may only read", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const [own, other] = [await register({ account }), await register()];
  expect((await bound(`/v1/tasks/${own}`, { key })).status).toBe(200);
  expect((await bound(`/v1/tasks/${other}`, { key })).status).toBe(404);
  const reindex = { method: "POST", body: { ids: [own] } };
  expect((await bound("/v1/reindex", { ...reindex, key })).status).toBe(403);
  const bindings = { ...env, OPERATOR_KEYS: `read:${OPERATOR_KEY}` };
  const task = { body: { model: "seedance" }, key: OPERATOR_KEY };
  expect((await bound("/v1/tasks", { ...task, bindings })).status).toBe(403);
});

it.each<[string, string, Message]>([
  ["a wrong key", "/v1/tasks", { body: { model: "seedance" }, key: "k".repeat(32) }],
  ["a malformed header Authorization", "/v1/stats", { headers: { Authorization: "Basic a" } }],
  ["an empty header Authorization", "/v1/stats", { headers: { Authorization: "" } }],
  ["a wrong key of a submission", SUBMIT, { body: BODY, headers: { "x-api-key": "sk-own-key" } }],
  ["a wrong Relay-Key", SUBMIT, { body: BODY, headers: { "Relay-Key": "k".repeat(32) } }],
  ["a wrong signature", "/v1/events", { body: {}, headers: { "webhook-signature": "v1,AAAA" } }],
  ["a wrong status token", `/v1/tasks/${crypto.randomUUID()}?token=st_1_2_3`, {}],
])(
  "%s in a request over a service binding is refused with 401, just as at the public address",
  async (_, path, message) => {
    const outside = anArk();
    expect(await refusal(await bound(path, { ...message, bindings: BINDINGS }))).toEqual(
      UNAUTHENTICATED,
    );
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

it.each([
  "/",
  "/v1",
  "/v1/",
  "/v1/../healthz",
  "/v1/unknown",
  "/V1/tasks",
  "//v1/tasks",
  "/openapi.json/",
  "/healthz",
  "/tasks",
  "/login",
  "/assets/console.css",
  "/docs",
  "/mcp",
  "/metrics",
  "/outputs/a/1/b.mp4",
  "/hooks/ark/a/b",
])(
  "over a service binding, the path %s does not exist: the response is 404 with a problem in JSON, even to a browser",
  async (path) => {
    const answer = await bound(path, { headers: { Accept: "text/html" } });
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    expect(await refusal(answer)).toEqual({ status: 404, code: "not_found" });
  },
);

it("over a service binding, a status link is answered with JSON, even to a browser, and /openapi.json with the API description", async () => {
  const body = { model: "seedance", callback_url: CALLBACK_URL };
  const { status_url: url = "" } = Registered.parse(
    await (await bound("/v1/tasks", { body })).json(),
  );
  const { pathname, search } = new URL(url);
  const linked = await bound(`${pathname}${search}`, { headers: { Accept: "text/html" } });
  expect([linked.status, linked.headers.get("Content-Type")]).toEqual([200, "application/json"]);
  const description = await bound("/openapi.json");
  expect(await description.json()).toMatchObject({ openapi: expect.any(String) });
});

it("while a configuration variable is invalid, a request over a service binding gets 503 not_configured", async () => {
  const bindings = { ...env, CALLBACK_TIMEOUT_S: "soon" };
  expect(await refusal(await bound("/v1/stats", { bindings }))).toMatchObject({
    status: 503,
    code: "not_configured",
  });
});

it("the log line of a request that is refused over a service binding has the value binding in its field via", async () => {
  const lines = await loggedBy(() => bound(`/v1/tasks/${crypto.randomUUID()}`));
  expect(lines).toMatchObject([
    { event: "request.refused", via: "binding", method: "GET", path: "/v1/tasks/:id", status: 404 },
  ]);
});
