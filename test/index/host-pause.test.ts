import { env } from "cloudflare:workers";
import { expect, it, onTestFinished } from "vitest";
import { logIn, outcome, submit, visit } from "../worker/browser.ts";
import { call, callWith, OPERATOR_KEY, OPERATOR_NAME } from "../worker/client.ts";
import { pass, START_S, until } from "../worker/clock.ts";
import { untilIdle } from "../worker/objects.ts";
import { aReceiver } from "../worker/receiver.ts";
import { aCompletion, finish, register } from "../worker/tasks.ts";
import { answerOf, aRow, insert, isWritten, rowsOfTask, useIndex, wake } from "./support.ts";

useIndex();

const DAY_S = 86_400;

/** Returns a host that no other test pauses. */
function aHost(): string {
  return `h-${crypto.randomUUID()}.example.net`;
}

/** Pauses a host until the test has ended. */
async function pause(host: string, body: object = {}): Promise<void> {
  onTestFinished(() => resume(host));
  await call(`/v1/hosts/${host}/pause`, { method: "PUT", body });
}

async function resume(host: string): Promise<void> {
  await call(`/v1/hosts/${host}/pause`, { method: "DELETE" });
}

/** Returns the present problems, and the number of paused hosts in the metrics. */
async function told() {
  const problems = await answerOf("/v1/problems");
  const metrics = await (await callWith({ ...env }, "/metrics")).text();
  return { problems, count: /^task_relay_paused_hosts (\d+)$/m.exec(metrics)?.[1] };
}

it("the row of a task whose callback rests has the status paused and is overdue only after the pause, and lists of tasks find it", async () => {
  aReceiver();
  const host = aHost();
  await pause(host);
  const id = await register({ callback_url: `https://${host}/callbacks` });
  await finish(aCompletion(id));
  await wake(id);
  await until(() => isWritten(id));
  const dueAt = (START_S + DAY_S + 600) * 1000;
  expect(await rowsOfTask(id)).toMatchObject([{ callback: "paused", due_at: dueAt, attempts: 0 }]);
  for (const status of ["paused", "open"]) {
    expect(await answerOf(`/v1/tasks?callback=${status}&host=${host}`)).toMatchObject({
      data: [{ id, callback: { status: "paused", host, attempts: 0 } }],
    });
  }
  await resume(host);
  await untilIdle(id);
});

it("GET /v1/hosts and /v1/hosts/{host} show until when a host is paused, also one without callbacks, and no longer once its pause is over", async () => {
  const host = aHost();
  expect(await answerOf(`/v1/hosts/${host}`)).toMatchObject({ host, paused_until: null });
  await pause(host, { until: START_S + 60 });
  const paused = { host, paused_until: START_S + 60, callbacks: { total: 0, paused: 0 } };
  expect(await answerOf(`/v1/hosts/${host}`)).toMatchObject(paused);
  expect(await answerOf("/v1/hosts")).toMatchObject({ total: 1, data: [paused] });
  pass(60_000);
  expect(await answerOf("/v1/hosts")).toMatchObject({ total: 0, data: [] });
});

it("GET /v1/problems lists a paused host with the end of its pause and who ordered it, and /metrics counts it, until it is resumed", async () => {
  const host = aHost();
  await pause(host, { until: START_S + 60 });
  const problem = {
    kind: "host_paused",
    severity: "warning",
    since: START_S,
    subject: { host, paused_until: START_S + 60, by: OPERATOR_NAME },
  };
  expect(await told()).toMatchObject({ problems: { data: [problem] }, count: "1" });
  await resume(host);
  expect(await told()).toMatchObject({ problems: { data: [] }, count: "0" });
});

it("the console pauses a host for the chosen time and resumes it; the host's page, the list of hosts and the overview say so", async () => {
  const host = aHost();
  await insert(aRow({ host }));
  const cookie = await logIn();
  const page = async (path = `/hosts/${host}`) => (await visit(path, cookie)).text();
  expect(await page()).toContain(`action="/hosts/${host}/pause"`);
  const ordered = await submit(`/hosts/${host}/pause`, { hours: "4" }, cookie);
  expect(outcome(ordered)).toEqual([303, `/hosts/${host}`]);
  expect(await answerOf(`/v1/hosts/${host}`)).toMatchObject({ paused_until: START_S + 4 * 3600 });
  const paused = await page();
  expect(paused).toContain("<strong>Paused</strong> until");
  expect(paused).toContain(`action="/hosts/${host}/resume"`);
  expect(paused).not.toContain(`action="/hosts/${host}/pause"`);
  expect(await page("/hosts")).toContain("paused until");
  expect(await page("/")).toMatch(/class="chip tone-warn"><svg[^]*?<\/svg>paused</);
  const resumed = await submit(`/hosts/${host}/resume`, {}, cookie);
  expect(outcome(resumed)).toEqual([303, `/hosts/${host}`]);
  expect(await page()).not.toContain("<strong>Paused</strong>");
});

it("a viewer who only reads sees the pause of a host, and cannot order or end it", async () => {
  const host = aHost();
  const bindings = { ...env, OPERATOR_KEYS: `read:${OPERATOR_KEY}` };
  const cookie = await logIn(OPERATOR_KEY, bindings);
  const page = async () => (await visit(`/hosts/${host}`, cookie, {}, bindings)).text();
  expect(await page()).not.toContain(`action="/hosts/${host}/pause"`);
  await pause(host);
  expect(await page()).toContain("<strong>Paused</strong> until");
  expect(await page()).not.toContain(`action="/hosts/${host}/resume"`);
  for (const order of ["pause", "resume"]) {
    const answer = await submit(`/hosts/${host}/${order}`, {}, cookie, {}, bindings);
    expect(answer.status).toBe(403);
  }
});
