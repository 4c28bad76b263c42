import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf, booksOf } from "./accounts.ts";
import { logIn, outcome, submit as sendForm, visit } from "./browser.ts";
import { callWith, type Message, ProblemBody, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { attach } from "./hooked.ts";
import { loggedBy } from "./logged.ts";
import { evict, restart, stored, untilIdle, wake } from "./objects.ts";
import { anOutside, answering, type Outside, type Site } from "./outside.ts";
import { anArk as aSubmittingArk, ARK_PATH, BINDINGS, BODY, submit } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();
const waits = useHeldWaits();

const KEYS = {
  ...env,
  REPLICATE_API_TOKEN: "test-only-replicate-key",
  FAL_KEY: "test-only-fal-key",
  RUNWAY_API_KEY: "test-only-runway-key",
  ARK_API_KEY: "test-only-ark-key",
  LUMA_API_KEY: "test-only-luma-key",
};
const REPLICATE = "https://api.replicate.com/v1/predictions/p1";
const RUNWAY = "https://api.dev.runwayml.com/v1/tasks/r1";
const ARK = "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks/cgt-1";
const FAL = "https://queue.fal.run/fal-ai/fox/requests/f1";
const VIDEO = "https://cdn.example.net/fox.mp4";

const Shown = z.looseObject({
  status: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  cancel: z.looseObject({ state: z.string() }).optional(),
});

/** Replaces the network by an upstream and a receiver of callbacks. */
function anUpstream(prefix: string, site: Site): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(prefix, site);
  return outside;
}

/** A task on a relay with these bindings. */
interface Running {
  readonly id: string;
  readonly bindings: object;
}

/** Registers a task and attaches a job of the provider. */
async function running(
  provider: string,
  jobId: string,
  endpoint: string | null = null,
  fields: object = {},
): Promise<Running> {
  const task = { id: crypto.randomUUID(), bindings: KEYS };
  await restart(task.id, KEYS);
  const body = { id: task.id, model: "m", provider, callback_url: CALLBACK_URL, ...fields };
  const registered = await callWith(KEYS, "/v1/tasks", { body });
  if (registered.status !== 201) throw new Error(await registered.text());
  const attached = await attach({ ...task, provider, hookUrl: "" }, jobId, endpoint);
  if (attached.status !== 200) throw new Error(await attached.text());
  return task;
}

/** Lets answers come only when the task has changed, and not when their time is over. */
function untilNews(): void {
  waits.between = async () => true;
}

function cancel({ id, bindings }: Running, search = "", more: Message = {}) {
  return callWith(bindings, `/v1/tasks/${id}/cancel${search}`, { body: "", ...more });
}

async function read({ id, bindings }: Running) {
  return Shown.parse(await (await callWith(bindings, `/v1/tasks/${id}`)).json());
}

/** Returns method and URL of the requests to an upstream. */
function sentTo(outside: Outside, prefix: string): readonly string[] {
  return outside.sentTo(prefix).map(({ method, url }) => `${method} ${url}`);
}

const OFFERS = JSON.stringify([
  { connection: "ark", models: ["doubao-*"], price: { credits: 60 } },
  { connection: "replicate", models: ["*"] },
]);
const OFFERED = { ...BINDINGS, OFFERS };

/** Submits a job as an account whose balance is 100. */
async function submitted(path?: string, body: string = BODY) {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const response = await submit({ bindings: OFFERED, key, headers, body, ...(path && { path }) });
  const id = response.headers.get("Relay-Task-Id") ?? "";
  await restart(id, OFFERED);
  return { account, key, id, bindings: OFFERED };
}

describe("POST /v1/tasks/{id}/cancel of a task whose job the relay can cancel", () => {
  it("POST /v1/tasks/{id}/cancel asks the upstream to cancel the job; when the upstream confirms, the task fails as canceled, and its price is refunded", async () => {
    const outside = anUpstream(REPLICATE, answering({ id: "p1", status: "canceled" }));
    untilNews();
    const account = await anAccount(100);
    const task = await running("replicate", "p1", null, { account, credits: 60 });
    const response = await cancel(task);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      status: "failed",
      error: { code: "canceled", message: "The task was canceled." },
      failure: { category: "canceled", retryable: false },
      cancel: { state: "confirmed", reason: "order", requested_at: START_S },
    });
    await untilIdle(task.id);
    expect(outside.sentTo(REPLICATE)).toMatchObject([
      {
        method: "POST",
        url: `${REPLICATE}/cancel`,
        redirect: "manual",
        headers: { authorization: "Bearer test-only-replicate-key" },
        body: "",
      },
    ]);
    expect(await booksOf(account)).toEqual(["grant 100", "charge 60", "refund 60"]);
    expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
    expect(await balanceOf(account)).toBe(100);
  });

  it("POST /v1/tasks/{id}/cancel answers 409 task_settled with the result when a poll finds that the job had already ended", async () => {
    untilNews();
    const done = { id: "p1", status: "succeeded", output: VIDEO };
    const outside = anUpstream(REPLICATE, answering(done));
    const response = await cancel(await running("replicate", "p1"));
    const problem = ProblemBody.parse(await response.json());
    expect([response.status, problem.code]).toEqual([409, "task_settled"]);
    expect(problem["task"]).toMatchObject({
      status: "completed",
      output: { urls: [VIDEO] },
      cancel: { state: "refused" },
    });
    expect(sentTo(outside, REPLICATE)).toEqual([`POST ${REPLICATE}/cancel`, `GET ${REPLICATE}`]);
  });

  it("when a job of Ark can no longer be canceled because it runs, POST /v1/tasks/{id}/cancel answers 202, and a later result completes the task", async () => {
    untilNews();
    let state: object = { id: "cgt-1", status: "running" };
    const outside = anUpstream(ARK, () => Response.json(state));
    const task = await running("ark", "cgt-1");
    const response = await cancel(task);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({
      cancel: { state: "refused", answered_at: START_S },
    });
    // The state of the job was asked twice: before a call that was not made, and because of the refusal.
    expect(sentTo(outside, ARK)).toEqual([`GET ${ARK}`, `GET ${ARK}`]);
    state = { id: "cgt-1", status: "succeeded", content: { video_url: VIDEO } };
    await wake(task.id, 120_000);
    expect(await read(task)).toMatchObject({ status: "completed", cancel: { state: "refused" } });
  });

  it("POST /v1/tasks/{id}/cancel cancels a job of Ark that still waits in Ark's queue", async () => {
    untilNews();
    const outside = anUpstream(ARK, ({ method }) =>
      Response.json(method === "GET" ? { id: "cgt-1", status: "queued" } : {}),
    );
    const response = await cancel(await running("ark", "cgt-1"));
    expect(response.status).toBe(200);
    expect(sentTo(outside, ARK)).toEqual([`GET ${ARK}`, `DELETE ${ARK}`]);
  });

  it.each(["SUCCEEDED", "FAILED"])(
    "POST /v1/tasks/{id}/cancel sends no DELETE to Runway for a job in the state %s, because this would delete the job's output",
    async (status) => {
      untilNews();
      const outside = anUpstream(RUNWAY, answering({ id: "r1", status, output: [VIDEO] }));
      const response = await cancel(await running("runway", "r1"));
      expect(await refusal(response)).toEqual({ status: 409, code: "task_settled" });
      expect(sentTo(outside, RUNWAY)).toEqual([`GET ${RUNWAY}`, `GET ${RUNWAY}`]);
    },
  );

  it("when a call to cancel a Runway job got no response, and Runway then answers a poll of the job with 404, the cancellation counts as confirmed", async () => {
    let isGone = false;
    const outside = anUpstream(RUNWAY, ({ method }) => {
      if (isGone) return Response.json({ error: "not found" }, { status: 404 });
      if (method === "GET") return Response.json({ id: "r1", status: "RUNNING" });
      isGone = true;
      throw new Error("connection lost");
    });
    const task = await running("runway", "r1");
    expect((await cancel(task)).status).toBe(202);
    await wake(task.id, 5_000);
    expect(await read(task)).toMatchObject({
      error: { code: "canceled" },
      cancel: { state: "confirmed" },
    });
    expect(sentTo(outside, RUNWAY)).toEqual([`GET ${RUNWAY}`, `DELETE ${RUNWAY}`, `GET ${RUNWAY}`]);
  });

  it("when Runway answers 404 for a job that the relay has not yet tried to cancel, the cancellation does not count as confirmed, and the task stays open", async () => {
    anUpstream(RUNWAY, () => Response.json({ error: "not found" }, { status: 404 }));
    const task = await running("runway", "r1");
    expect((await cancel(task)).status).toBe(202);
    expect(await read(task)).toMatchObject({ status: "pending", cancel: { state: "unknown" } });
  });

  it("POST /v1/tasks/{id}/cancel of a job of fal answers 200 once a poll finds the job canceled, because this confirms the cancellation", async () => {
    let isStopped = false;
    const outside = anUpstream(FAL, ({ url, method }) => {
      if (method === "PUT")
        return Response.json({ status: "CANCELLATION_REQUESTED" }, { status: 202 });
      const ended = { status: "COMPLETED", request_id: "f1", error_type: "client_cancelled" };
      if (!isStopped) return Response.json({ status: "IN_PROGRESS", request_id: "f1" });
      return url.endsWith("/status")
        ? Response.json(ended)
        : Response.json({ detail: "cancelled", error_type: "client_cancelled" }, { status: 499 });
    });
    const task = await running("fal", "f1", "fal-ai/fox");
    waits.between = async () => {
      isStopped = true;
      return wake(task.id, 1_000);
    };
    const response = await cancel(task);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: "canceled" } });
    expect(sentTo(outside, FAL)[0]).toBe(`PUT ${FAL}/cancel`);
  });

  it("when fal has accepted a cancellation but the job still runs, POST /v1/tasks/{id}/cancel answers 202 after 5 s, and the task stays open", async () => {
    anUpstream(FAL, ({ method }) =>
      Response.json(
        method === "PUT"
          ? { status: "CANCELLATION_REQUESTED" }
          : { status: "IN_PROGRESS", request_id: "f1" },
      ),
    );
    const task = await running("fal", "f1", "fal-ai/fox");
    const response = await cancel(task);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({
      status: "processing",
      cancel: { state: "asked" },
    });
    expect(waits.waitedMs()).toBe(5_000);
  });

  it("when the upstream does not answer a cancellation, the relay asks three times, even if the task's Durable Object restarts, and then the cancellation counts as unknown", async () => {
    const outside = anUpstream(REPLICATE, ({ method }) => {
      if (method === "POST") throw new Error("connection lost");
      return Response.json({ id: "p1", status: "processing" });
    });
    const task = await running("replicate", "p1");
    expect(await (await cancel(task)).json()).toMatchObject({ cancel: { state: "asked" } });
    const { alarm } = await stored(task.id);
    // The answer has waited for 5 s, so the second call is due.
    expect(alarm).toBeLessThanOrEqual(Date.now());
    await restart(task.id, KEYS);
    await wake(task.id);
    expect(await read(task)).toMatchObject({ cancel: { state: "asked" } });
    await wake(task.id, 10_000);
    expect(await read(task)).toMatchObject({ status: "processing", cancel: { state: "unknown" } });
    const calls = sentTo(outside, `${REPLICATE}/cancel`);
    expect(calls).toHaveLength(3);
    await cancel(task);
    expect(sentTo(outside, `${REPLICATE}/cancel`)).toHaveLength(4);
  });

  it.each([
    [401, "refused"],
    [403, "refused"],
    [404, "unknown"],
    [429, "asked"],
    [503, "asked"],
  ])(
    "after an upstream answers a cancellation with %i, the task shows that its cancellation is in the state %s",
    async (status, state) => {
      anUpstream(REPLICATE, ({ method }) =>
        method === "POST"
          ? new Response("no", { status })
          : Response.json({ id: "p1", status: "processing" }),
      );
      const task = await running("replicate", "p1");
      const response = await cancel(task);
      expect([response.status, (await read(task)).cancel?.state]).toEqual([202, state]);
    },
  );

  it("POST /v1/tasks/{id}/cancel?force=true fails the task at once, whether the upstream has refused to cancel the job or was not asked", async () => {
    const outside = anUpstream(ARK, answering({ id: "cgt-1", status: "running" }));
    const task = await running("ark", "cgt-1");
    await cancel(task);
    const response = await cancel(task, "?force=true");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      error: { code: "canceled" },
      cancel: { state: "refused" },
    });
    const untouched = await running("ark", "cgt-2");
    expect(await (await cancel(untouched, "?force=true")).json()).toMatchObject({
      cancel: { state: "not_sent" },
    });
    expect(outside.sentTo(ARK.replace("cgt-1", "cgt-2"))).toEqual([]);
  });

  it("POST /v1/tasks/{id}/cancel refuses a value of force other than true and false", async () => {
    anUpstream(ARK, answering({ id: "cgt-1", status: "running" }));
    const response = await cancel(await running("ark", "cgt-1"), "?force=1");
    expect(await refusal(response)).toMatchObject({ status: 400, code: "invalid_request" });
  });
});

it.each([
  ["a provider that documents no cancellation", "luma", "g1"],
  ["a simulated job that has not ended", "sandbox", "sandbox/slow"],
])(
  "POST /v1/tasks/{id}/cancel makes a task with %s fail at once, and says whether the job may still be running",
  async (_what, provider, jobId) => {
    const outside = anUpstream("https://api.lumalabs.ai", answering({}));
    const bindings = { ...KEYS, SANDBOX: "true" };
    const id = crypto.randomUUID();
    await restart(id, bindings);
    const body = { id, model: provider === "sandbox" ? jobId : "m", provider };
    await callWith(bindings, "/v1/tasks", { body });
    if (provider !== "sandbox")
      await callWith(bindings, `/v1/tasks/${id}/upstream`, { body: { provider, id: jobId } });
    const response = await cancel({ id, bindings });
    expect(response.status).toBe(200);
    const state = provider === "sandbox" ? "confirmed" : "not_sent";
    expect(await response.json()).toMatchObject({ error: { code: "canceled" }, cancel: { state } });
    expect(outside.sentTo("https://api.lumalabs.ai")).toEqual([]);
  },
);

describe("POST /v1/tasks/{id}/cancel with the key of an account", () => {
  it("POST /v1/tasks/{id}/cancel with an account's key cancels a task that this account has submitted, and refunds it", async () => {
    aSubmittingArk(({ method, url }) => {
      if (method === "POST" && url.endsWith(ARK_PATH)) return Response.json({ id: "cgt-1" });
      return Response.json(method === "GET" ? { id: "cgt-1", status: "queued" } : {});
    });
    const { account, key, ...task } = await submitted();
    expect(await balanceOf(account)).toBe(40);
    const lines = await loggedBy(async () => {
      const response = await cancel(task, "", { key });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ cancel: { state: "confirmed" } });
    });
    // The line of an order of the operator: its name is that of the log's documentation.
    const line = { event: "task.cancel", task_id: task.id, outcome: "recorded" };
    expect(lines).toContainEqual(expect.objectContaining(line));
    await untilIdle(task.id);
    expect(await balanceOf(account)).toBe(100);
  });

  it("when an account cancels a job that it submitted with its own key of the upstream, the relay uses that key, even when the relay has none for the upstream", async () => {
    const outside = aSubmittingArk(({ method, url }) => {
      if (method === "POST" && url.endsWith(ARK_PATH)) return Response.json({ id: "cgt-1" });
      return Response.json(method === "GET" ? { id: "cgt-1", status: "queued" } : {});
    });
    const offers = [{ connection: "ark", models: ["*"], key: "customer" }];
    const bindings = { ...BINDINGS, ARK_API_KEY: "", OFFERS: JSON.stringify(offers) };
    const { key } = await aKey(await anAccount());
    const headers = { "Relay-Key": key, Authorization: "Bearer sk-own-4711" };
    const submission = await submit({ bindings, key: null, headers });
    expect(submission.status).toBe(200);
    const id = submission.headers.get("Relay-Task-Id") ?? "";
    await restart(id, bindings);
    const response = await cancel({ id, bindings }, "", { key });
    expect(await response.json()).toMatchObject({ cancel: { state: "confirmed" } });
    const [call] = outside.sentTo(ARK).filter(({ method }) => method === "DELETE");
    expect(call?.headers["authorization"]).toBe("Bearer sk-own-4711");
  });

  it("for an account, POST /v1/tasks/{id}/cancel answers 202 when the upstream refuses to cancel, and 403 when the query has force", async () => {
    aSubmittingArk(({ method }) =>
      Response.json({ id: "cgt-1", ...(method === "GET" && { status: "running" }) }),
    );
    const { key, ...task } = await submitted();
    const response = await cancel(task, "", { key });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ cancel: { state: "refused" } });
    const forced = await cancel(task, "?force=true", { key });
    expect(await refusal(forced)).toEqual({ status: 403, code: "forbidden" });
  });

  it("POST /v1/tasks/{id}/cancel answers 403 to an account's key with the role read, and 404 for a task of another account", async () => {
    aSubmittingArk();
    const { account, ...task } = await submitted();
    const { key: reading } = await aKey(account, "read");
    const { key: other } = await aKey(await anAccount());
    const codes = [];
    for (const key of [reading, other]) codes.push(await refusal(await cancel(task, "", { key })));
    expect(codes).toEqual([
      { status: 403, code: "forbidden" },
      { status: 404, code: "unknown_task" },
    ]);
  });

  it("an account that cancels a task which the operator registered or submitted for it gets 409 not_cancelable with the task", async () => {
    const outside = aSubmittingArk();
    const account = await anAccount(100);
    const { key } = await aKey(account);
    const id = crypto.randomUUID();
    const headers = { "Relay-Task-Id": id, "Relay-Account": account };
    await submit({ bindings: OFFERED, headers });
    const response = await cancel({ id, bindings: OFFERED }, "", { key });
    const problem = ProblemBody.parse(await response.json());
    expect([response.status, problem.code]).toEqual([409, "not_cancelable"]);
    expect(problem["task"]).toMatchObject({ id, status: "pending" });
    expect(outside.sentTo("https://ark.")).toHaveLength(1);
  });
});

/** Runs the alarms of a task that has a short deadline, each at its time, until the task has ended. */
async function untilEnded(task: Running): Promise<void> {
  for (let i = 0; i < 60 && (await read(task)).error === undefined; i++) {
    const { alarm } = await stored(task.id);
    await wake(task.id, Math.max(0, (alarm ?? NaN) - Date.now()));
  }
}

describe("the deadline of a task whose job the relay can cancel", () => {
  it("when a task is still open after its deadline and one extension, the relay cancels the job at the upstream, and the task fails with upstream_timeout", async () => {
    const outside = anUpstream(REPLICATE, ({ method }) =>
      Response.json({ id: "p1", status: method === "GET" ? "processing" : "canceled" }),
    );
    const deadline_at = START_S + 60;
    const task = await running("replicate", "p1", null, { deadline_at });
    await untilEnded(task);
    expect(await read(task)).toMatchObject({
      error: { code: "upstream_timeout" },
      cancel: { state: "confirmed", reason: "deadline" },
    });
    const { body } = outside.sentTo(CALLBACK_URL)[0] ?? { body: "" };
    expect(JSON.parse(body)).toMatchObject({ error: { code: "upstream_timeout" } });
    expect(sentTo(outside, REPLICATE).slice(-2)).toEqual([
      `GET ${REPLICATE}`,
      `POST ${REPLICATE}/cancel`,
    ]);
    // The extension is a quarter of the time from the registration to the deadline, about 15 s.
    expect(Date.now()).toBeGreaterThanOrEqual((START_S + 74) * 1000);
  });

  it("when the upstream does not answer the cancellation of a job at its task's deadline, the task fails 30 s later, unless a result in these 30 s completes it", async () => {
    let isDone = false;
    anUpstream(REPLICATE, ({ method }) => {
      if (method === "POST") throw new Error("connection lost");
      return Response.json(
        isDone
          ? { id: "p1", status: "succeeded", output: VIDEO }
          : { id: "p1", status: "starting" },
      );
    });
    const silent = await running("replicate", "p1", null, { deadline_at: START_S + 60 });
    await untilEnded(silent);
    expect(await read(silent)).toMatchObject({
      error: { code: "upstream_timeout" },
      cancel: { state: "unknown" },
    });
    const lucky = await running("replicate", "p1", null, {
      deadline_at: Math.floor(Date.now() / 1000) + 60,
    });
    pass(60_000);
    await wake(lucky.id);
    await wake(lucky.id, 16_000);
    expect(await read(lucky)).toMatchObject({ cancel: { state: "asked", reason: "deadline" } });
    isDone = true;
    await evict(lucky.id);
    await restart(lucky.id, KEYS);
    await wake(lucky.id, 31_000);
    expect(await read(lucky)).toMatchObject({ status: "completed" });
  });
});

/** Returns the page of a task as the operator or an account sees it. */
async function pageOf({ id, bindings }: Running, cookie: string): Promise<string> {
  return (await visit(`/tasks/${id}`, cookie, {}, bindings)).text();
}

describe("the console's page of a task and its form to cancel", () => {
  it("when the upstream has refused with 403 to cancel a job, the console's page of the task says so and offers to fail the task all the same", async () => {
    anUpstream(REPLICATE, ({ method }) =>
      method === "POST"
        ? Response.json({ detail: "not permitted" }, { status: 403 })
        : Response.json({ id: "p1", status: "processing" }),
    );
    untilNews();
    const cookie = await logIn();
    const task = await running("replicate", "p1");
    const before = await pageOf(task, cookie);
    expect(before).toContain("The upstream is asked to cancel the job.");
    expect(before).not.toContain("Fail it all the same");
    const path = `/tasks/${task.id}/cancel`;
    const page = [303, expect.stringMatching(`^/tasks/${task.id}`)];
    expect(outcome(await sendForm(path, {}, cookie, {}, KEYS))).toEqual(page);
    const after = await pageOf(task, cookie);
    expect(after).toContain("the upstream did not cancel the job");
    expect(after).toContain("with HTTP status 403");
    expect(after).toContain("Fail it all the same");
    expect(outcome(await sendForm(path, { force: "true" }, cookie, {}, KEYS))).toEqual(page);
    expect(await read(task)).toMatchObject({ status: "failed", error: { code: "canceled" } });
  });

  it("the console's form to cancel a task says that the job may continue when the relay cannot ask the upstream to cancel it", async () => {
    anOutside();
    const page = await pageOf(await running("luma", "l1"), await logIn());
    expect(page).toContain("The relay cannot cancel a job of this task at an upstream");
    expect(page).not.toContain("The upstream is asked to cancel the job.");
  });

  it("when a user of the console cancels a task whose job has already ended, the task's page shows the result and no error", async () => {
    anUpstream(REPLICATE, answering({ id: "p1", status: "succeeded", output: VIDEO }));
    untilNews();
    const cookie = await logIn();
    const task = await running("replicate", "p1");
    const response = await sendForm(`/tasks/${task.id}/cancel`, {}, cookie, {}, KEYS);
    expect(response.status).toBe(303);
    expect(await pageOf(task, cookie)).toContain(VIDEO);
  });

  it("the console lets an account cancel a task that the account has submitted, but not a task that the operator has submitted for it", async () => {
    aSubmittingArk();
    const { account, key, ...own } = await submitted();
    const given = { id: crypto.randomUUID(), bindings: OFFERED };
    const headers = { "Relay-Task-Id": given.id, "Relay-Account": account };
    await submit({ bindings: OFFERED, headers });
    const cookie = await logIn(key, OFFERED);
    expect(await pageOf(own, cookie)).toContain("/cancel");
    expect(await pageOf(given, cookie)).not.toContain("/cancel");
  });
});
