import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, expectTypeOf, it } from "vitest";
import type * as z from "zod/mini";
import type { Plain } from "../../src/api/shapes/plain.d.ts";
import type * as schemas from "../../src/api/shapes/task-shape.ts";
import type { TaskPage } from "../../src/api/search/filters.ts";
import type { TaskFinishEvent } from "../../src/api/tasks/event-schema.ts";
import type { Attachment, RedeliverOrder, Registration } from "../../src/api/tasks/task-schemas.ts";
import { Relay } from "../../src/service-binding/relay.ts";
import type * as service from "../../src/service-binding/relay-service.ts";
import { useClock } from "./clock.ts";
import { NOTHING, restart, stored, untilIdle } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { started } from "./started.ts";
import { answering } from "./outside.ts";
import { anArk, ARK_PATH, BINDINGS, BODY, JOB, readSubmitted, sentToArk } from "./submitted.ts";
import { aCompletion, CALLBACK_URL, read } from "./tasks.ts";

useClock();

/** The entrypoint as another Worker sees it: its arguments and results are cloned on the way. */
const relay: service.RelayService = exports.Relay;
const registration = { model: "seedance", callback_url: CALLBACK_URL };

async function registered(): Promise<string> {
  const answer = await relay.register(registration);
  if (!answer.ok) throw new Error(answer.problem.detail);
  return answer.task.id;
}

it("Relay.register, called over a service binding, answers the task with isNew true, and to the same idempotencyKey again with isNew false", async () => {
  const options = { idempotencyKey: crypto.randomUUID() };
  const first = await relay.register(registration, options);
  const task = { model: "seedance", status: "pending", callback: { url: CALLBACK_URL } };
  expect(first).toMatchObject({ ok: true, isNew: true, task });
  expect(await relay.register(registration, options)).toEqual({ ...first, isNew: false });
});

it("Relay.report, read, redeliver and erase, called over a service binding, do what the HTTP routes of the same operations do", async () => {
  const received = aReceiver();
  const id = await registered();
  const event = aCompletion(id);
  expect(await relay.report(event)).toMatchObject({ ok: true, isNew: true, task: { id } });
  await untilIdle(id);
  expect(await relay.report(event)).toMatchObject({ ok: true, isNew: false });
  expect(await relay.read(id)).toEqual({ ok: true, task: await read(id) });

  const order = { attempts: 2 } as const;
  const options = { idempotencyKey: "again" };
  expect(await relay.redeliver(id, order, options)).toMatchObject({ ok: true, isNew: true });
  await untilIdle(id);
  expect(await relay.redeliver(id, order, options)).toMatchObject({ ok: true, isNew: false });
  expect(received).toHaveLength(2);

  expect(await relay.erase(id)).toEqual({ ok: true });
  expect(await stored(id)).toEqual(NOTHING);
});

it("Relay.cancel, called over a service binding, ends an open task as failed with the code canceled", async () => {
  aReceiver();
  const id = await registered();
  const task = { id, status: "failed", error: { code: "canceled" } };
  expect(await relay.cancel(id)).toMatchObject({ ok: true, task });
  await untilIdle(id);
});

it("Relay.read with wait, called over a service binding, answers as soon as the task has ended", async () => {
  aReceiver();
  const id = await registered();
  const reading = relay.read(id, { wait: 60 });
  await relay.report(aCompletion(id));
  expect(await reading).toMatchObject({ ok: true, task: { id, status: "completed" } });
  await untilIdle(id);
});

/** Calls a method with any arguments, as a Worker without types could. */
async function callWith(
  called: service.RelayService,
  method: keyof service.RelayService,
  ...args: unknown[]
): Promise<unknown> {
  const call: unknown = Reflect.get(called, method);
  if (typeof call !== "function") throw new Error(`Relay has no method ${method}`);
  return Reflect.apply(call, called, args);
}

it("Relay.read, called over a service binding, accepts null as its options, which a Worker without types may pass", async () => {
  const id = await registered();
  expect(await callWith(relay, "read", id, null)).toMatchObject({ ok: true, task: { id } });
});

/** Returns the entrypoint of a relay with keys for upstreams. */
async function submitting(variables: { PUBLIC_URL?: string } = {}): Promise<service.RelayService> {
  return new Relay(createExecutionContext(), await started({ ...BINDINGS, ...variables }));
}

async function submissionTo(path: string, init: service.SubmitInit) {
  const answer = await (await submitting()).submit("ark", path, init);
  if (!answer.ok) throw new Error(answer.problem.detail);
  return { ...answer, body: new TextDecoder().decode(answer.body) };
}

it("Relay.submit sends the caller's body with the hook URL and the key of the connection, and returns the upstream's answer with the task", async () => {
  const outside = anArk();
  const id = crypto.randomUUID();
  await restart(id, BINDINGS);
  const metadata = { city: "Köln 🦊" };
  const init = { body: BODY, headers: { "X-Trace": "t" }, taskId: id, callbackUrl: CALLBACK_URL };
  const answer = await submissionTo(ARK_PATH.slice(1), { ...init, metadata });
  const body = JSON.stringify({ id: JOB });
  expect(answer).toMatchObject({ ok: true, taskId: id, isReplayed: false, status: 200, body });
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(new URL(answer.statusUrl ?? "").pathname).toContain(id);
  const sent = sentToArk(outside);
  expect(sent.body).toContain(BODY.slice(0, -2));
  expect(sent.body).toContain(`/hooks/ark/${id}/`);
  expect(sent.headers).toMatchObject({ authorization: "Bearer test-only-ark-key", "x-trace": "t" });
  const task = { id, metadata, callback: { url: CALLBACK_URL }, upstream: { id: JOB } };
  expect(await readSubmitted(id)).toMatchObject(task);
});

it.each<[string, () => NonNullable<service.SubmitInit["body"]>]>([
  ["bytes", () => new TextEncoder().encode(BODY)],
  ["a buffer", () => new Uint8Array(new TextEncoder().encode(BODY)).buffer],
  ["a stream", () => new Blob([BODY]).stream()],
])(
  "Relay.submit takes a body that is %s, and headers that are an object of the class Headers",
  async (_, body) => {
    const outside = anArk();
    const headers = new Headers({ "X-Trace": "t" });
    await submissionTo(ARK_PATH, { body: body(), headers, query: "a=%2F" });
    const [sent] = outside.sentTo("https://ark.cn-beijing.volces.com/");
    expect(sent?.url).toContain(`${ARK_PATH}?a=%2F`);
    expect([sent?.body.startsWith(BODY.slice(0, -2)), sent?.headers["x-trace"]]).toEqual([
      true,
      "t",
    ]);
  },
);

it("Relay.submit with the same idempotencyKey again returns the stored answer with isReplayed true, and sends nothing", async () => {
  const outside = anArk();
  const init = { body: BODY, idempotencyKey: crypto.randomUUID() };
  const first = await submissionTo(ARK_PATH, init);
  const again = await submissionTo(ARK_PATH, init);
  expect(again).toEqual({ ...first, isReplayed: true });
  sentToArk(outside);
});

it("Relay.submit returns a refusal of the upstream as its answer, without a status link", async () => {
  anArk(answering({ error: "no" }, 400));
  const answer = await submissionTo(ARK_PATH, { body: BODY });
  expect(answer).toMatchObject({ status: 400, body: '{"error":"no"}', statusUrl: null });
});

it("Relay.submit answers submit_unknown with the task when the upstream does not say whether it has started a job", async () => {
  anArk(answering({}, 502));
  const answer = await (await submitting()).submit("ark", ARK_PATH, { body: BODY });
  const problem = { status: 424, code: "submit_unknown", task: { status: "pending" } };
  expect(answer).toMatchObject({ ok: false, problem });
});

it("without PUBLIC_URL, Relay.submit returns a submission to the sandbox without a status link", async () => {
  const relayed = await submitting({ PUBLIC_URL: "" });
  const answer = await relayed.submit("sandbox", "jobs", { body: '{"model": "sandbox/ok"}' });
  expect(answer).toMatchObject({ ok: true, status: 200, statusUrl: null });
});

it("Relay.submit with the key of the customer sends the one in the headers as it is, and asks for the job with it", async () => {
  const outside = anArk();
  const id = crypto.randomUUID();
  await restart(id, BINDINGS);
  const headers = { Authorization: "Bearer sk-own" };
  const init = { body: BODY, headers, key: "customer", taskId: id } as const;
  expect(await submissionTo(ARK_PATH, init)).toMatchObject({ ok: true, status: 200 });
  expect(sentToArk(outside).headers["authorization"]).toBe("Bearer sk-own");
  expect(await readSubmitted(id)).toMatchObject({ submission: { key: "customer" } });
});

it.each<[string, string, string, unknown, object]>([
  [
    "the key of nobody",
    "ark",
    ARK_PATH,
    { body: BODY, key: "nobody" },
    { issues: [{ path: "/key" }] },
  ],
  [
    "the key of the customer, but none in the headers",
    "ark",
    ARK_PATH,
    { body: BODY, key: "customer" },
    { issues: [{ path: "/Authorization" }] },
  ],
  [
    "the key of the customer, which is one of the relay's",
    "ark",
    ARK_PATH,
    {
      body: BODY,
      key: "customer",
      headers: { Authorization: "Bearer test-only-older-operator-key" },
    },
    { issues: [{ path: "/Authorization" }] },
  ],
  [
    "the header Relay-Key",
    "ark",
    ARK_PATH,
    { body: BODY, headers: { "Relay-Key": "any" } },
    { issues: [{ path: "/headers/Relay-Key" }] },
  ],
  ["a path with `..`", "ark", "../files", {}, { issues: [{ path: "/path" }] }],
  ["a path with a query", "ark", "jobs?a=1", {}, { issues: [{ path: "/path" }] }],
  ["a body that is a number", "ark", ARK_PATH, { body: 7 }, { issues: [{ path: "/body" }] }],
  [
    "a header with a line break",
    "ark",
    ARK_PATH,
    { body: BODY, headers: { "X-A": "a\nb" } },
    { issues: [{ path: "/headers/X-A" }] },
  ],
  [
    "metadata that contain themselves",
    "ark",
    ARK_PATH,
    { body: BODY, metadata: cyclic() },
    { issues: [{ path: "/metadata" }] },
  ],
  ["an unknown connection", "nowhere", ARK_PATH, { body: BODY }, { code: "not_found" }],
  ["no body", "ark", ARK_PATH, null, { code: "invalid_json" }],
])(
  "Relay.submit with %s is refused, and sends nothing",
  async (_, connection, path, init, problem) => {
    const outside = anArk();
    const answer = await callWith(await submitting(), "submit", connection, path, init);
    expect(answer).toMatchObject({ ok: false, problem });
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

/** Returns an object that contains itself. */
function cyclic(): object {
  const object: { self?: unknown } = {};
  object.self = object;
  return object;
}

/** Returns the entrypoint of a relay that does not know its own address. */
async function unaddressed(): Promise<service.RelayService> {
  return new Relay(createExecutionContext(), await started({ ...env, PUBLIC_URL: "" }));
}

it("without PUBLIC_URL, Relay.register, called over a service binding, returns a task without status_url, to which Relay.attach attaches a job", async () => {
  const relayed = await unaddressed();
  const answer = await relayed.register(registration);
  if (!answer.ok) throw new Error(answer.problem.detail);
  expect(answer.task).not.toHaveProperty("status_url");
  const { id } = answer.task;
  const upstream = { id: "cgt-1" };
  const attached = await relayed.attach(id, { provider: "ark", ...upstream });
  expect(attached).toMatchObject({ ok: true, task: { id, upstream } });
});

/** Calls that must be refused, by the fault in them, with the expected problem. */
const REFUSED: Readonly<Record<string, [(id: string) => Promise<unknown>, object]>> = {
  "register with a model that is no text": [
    () => callWith(relay, "register", { model: 7 }),
    { status: 400, code: "invalid_request", issues: [{ path: "/model" }] },
  ],
  "register with an object that contains itself": [
    () => callWith(relay, "register", cyclic()),
    { status: 400, code: "invalid_json" },
  ],
  "register without an argument": [
    () => callWith(relay, "register"),
    { status: 400, code: "invalid_request", issues: [{ path: "/model" }] },
  ],
  "register with an idempotencyKey that no header can have": [
    () => relay.register(registration, { idempotencyKey: "clé\n" }),
    { status: 400, code: "invalid_request", issues: [{ path: "/Idempotency-Key" }] },
  ],
  "register with a task larger than MAX_BODY_KB": [
    () => relay.register({ ...registration, parameters: { prompt: "x".repeat(2 ** 20) } }),
    { status: 413, code: "payload_too_large" },
  ],
  "register with a provider that has hooks while PUBLIC_URL is not set": [
    async () => (await unaddressed()).register({ ...registration, provider: "ark" }),
    { status: 503, code: "not_configured", detail: expect.stringContaining("PUBLIC_URL") },
  ],
  "read with the id of an unknown task": [
    () => relay.read(crypto.randomUUID()),
    { status: 404, code: "unknown_task" },
  ],
  "read with an id that is no text": [
    () => callWith(relay, "read", {}),
    { status: 404, code: "unknown_task" },
  ],
  "read without an id": [() => callWith(relay, "read"), { status: 404, code: "unknown_task" }],
  "register with the registration as a body in its options": [
    () => callWith(relay, "register", {}, { body: registration }),
    { status: 400, code: "invalid_request", issues: [{ path: "/model" }] },
  ],
  "list with a status that is undefined": [
    () => callWith(relay, "list", { status: undefined }),
    { status: 501, code: "index_disabled" },
  ],
  "read with a wait that is no number of seconds": [
    (id) => relay.read(id, { wait: -1 }),
    { status: 400, code: "invalid_request", issues: [{ path: "/wait" }] },
  ],
  "redeliver of an open task": [
    (id) => relay.redeliver(id),
    { status: 409, code: "task_open", task: { status: "pending" } },
  ],
  "deleteOutput of an open task": [
    (id) => relay.deleteOutput(id, 1),
    { status: 409, code: "task_open", task: { status: "pending" } },
  ],
  "deleteOutput with a number below 1": [
    (id) => relay.deleteOutput(id, 0),
    { status: 400, code: "invalid_request", issues: [{ path: "/output" }] },
  ],
  "deleteOutput without a number": [
    (id) => callWith(relay, "deleteOutput", id),
    { status: 400, code: "invalid_request", issues: [{ path: "/output" }] },
  ],
  "erase of an open task": [(id) => relay.erase(id), { status: 409, code: "task_open" }],
  "list without an index": [() => relay.list(), { status: 501, code: "index_disabled" }],
};

it.each(Object.entries(REFUSED))(
  "a Worker that calls Relay.%s over a service binding gets { ok: false } and the problem that the HTTP route answers",
  async (_, [call, problem]) => {
    const id = await registered();
    expect(await call(id)).toMatchObject({ ok: false, problem });
    expect(await relay.read(id)).toMatchObject({ ok: true, task: { status: "pending" } });
  },
);

it("the arguments of Relay, which Workers call over a service binding, have the same fields as the requests of the HTTP routes", () => {
  expectTypeOf<keyof service.TaskRegistration>().toEqualTypeOf<Members<typeof Registration>>();
  expectTypeOf<keyof service.UpstreamJob>().toEqualTypeOf<Members<typeof Attachment>>();
  expectTypeOf<keyof service.TaskEvent>().toEqualTypeOf<SharedMembers>();
  expectTypeOf<keyof service.TaskQuery>().toEqualTypeOf<
    Exclude<Members<typeof TaskPage>, "count">
  >();
  expectTypeOf<keyof service.Redelivery>().toEqualTypeOf<Members<typeof RedeliverOrder>>();
});

it("the answers of Relay, which Workers call over a service binding, have the types that openapi.json describes for the HTTP routes", () => {
  expectTypeOf<Described["Task"]>().toExtend<service.Task>();
  expectTypeOf<Described["RegisteredTask"]>().toExtend<service.RegisteredTask>();
  expectTypeOf<Described["ListedTask"]>().toExtend<service.ListedTask>();
  expectTypeOf<service.Task>().toExtend<Described["Task"]>();
  expectTypeOf<service.ListedTask>().toExtend<Described["ListedTask"]>();
});

type Schemas = typeof schemas;
type Described = { [Name in keyof Schemas]: Plain<z.output<Schemas[Name]>> };
type Members<S extends z.ZodMiniType> = keyof z.input<S>;
/** Type of the members that events of every status have. */
type SharedMembers = Exclude<
  Members<typeof TaskFinishEvent>,
  "completed_at" | "output" | "error" | "usage"
>;
