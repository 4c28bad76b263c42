import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { call, invalid, post, refusal } from "./client.ts";
import { pass, START_S, until, useClock } from "./clock.ts";
import { attach, type Hooked, hooked, sendHook } from "./hooked.ts";
import { loggedBy } from "./logged.ts";
import { restart, rowsOf, stored, untilIdle, wake } from "./objects.ts";
import { anOutside, answering, type Outside, type Sent } from "./outside.ts";
import { aReceiver } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { found, SENDERS } from "./senders.ts";
import { anArk, ARK, named, readSubmitted, submit } from "./submitted.ts";
import { aCompletion, aFailure, CALLBACK_URL, finish, read, register, report } from "./tasks.ts";

useClock();

const ASKED = ["completed", "failed", "progress"];
const UPSTREAM = "https://api.replicate.com";
const replicate = found(SENDERS, ({ provider }) => provider === "replicate");
const BINDINGS = { ...env, ...replicate.secretVars, REPLICATE_API_TOKEN: "test-only-token" };

/** Running job at Replicate whose model has logged a progress bar; one without a percentage has logged nothing. */
const running = (percent: number | null) => ({
  id: "job-1",
  status: "processing",
  logs: percent === null ? "" : `${percent}%|███   | 5/9 [00:01]`,
});

/** Replaces the network by a Replicate whose job runs, and a receiver of callbacks. */
function aReplicate(percent: number | null, status = 204): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, () => new Response(null, { status }));
  outside.on(UPSTREAM, answering(running(percent)));
  return outside;
}

/** Registers a task with a job. @param taken events that its receiver takes; null for none stated. */
async function aJob(taken: readonly string[] | null = ASKED): Promise<Hooked> {
  const fields = taken === null ? {} : { callback_events: taken };
  const task = await hooked({ provider: "replicate", bindings: BINDINGS, fields });
  await attach(task, "job-1");
  return task;
}

/** Runs the next alarm of a task, at which its job is polled. */
async function poll({ id }: Hooked): Promise<void> {
  await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
}

/** Lets a signed hook tell a percentage. */
async function tell(task: Hooked, percent: number): Promise<void> {
  const body = JSON.stringify(running(percent));
  const headers = await replicate.sign(body, task);
  expect((await sendHook(task, body, headers)).status).toBe(200);
}

/** Waits until this number of callbacks has arrived. */
async function callbacks(outside: Outside, count: number): Promise<readonly Sent[]> {
  await until(() => outside.sentTo(CALLBACK_URL).length >= count);
  return outside.sentTo(CALLBACK_URL);
}

function events(sent: readonly Sent[]): readonly (string | undefined)[] {
  return sent.map(({ headers }) => headers["x-event"]);
}

it("a receiver that asks for progress gets task.processing when a poll finds the job running, signed and with a webhook-id of its own, and later the end as ever", async () => {
  const outside = aReplicate(40);
  const task = await aJob();
  await poll(task);
  const at = Math.floor(Date.now() / 1000);
  await callbacks(outside, 1);
  const done = { ...running(100), status: "succeeded", output: "https://replicate.delivery/o.mp4" };
  outside.on(UPSTREAM, answering(done));
  await poll(task);
  await untilIdle(task.id);
  const sent = await callbacks(outside, 2);
  expect(events(sent)).toEqual(["task.processing", "task.completed"]);
  const [progress, end] = sent;
  expect(progress?.body).toBe(
    `{"id":"${task.id}","status":"processing","model":"m","created_at":${START_S},"progress":40}`,
  );
  expect(progress?.headers).toMatchObject({
    "content-type": "application/json",
    "x-task-id": task.id,
    "x-timestamp": String(at),
    "x-attempt": "1",
    "webhook-id": expect.stringMatching(/^progress_[0-9a-f-]{36}$/),
    "webhook-timestamp": String(at),
  });
  expect(end?.headers).toMatchObject({ "webhook-id": `msg_${task.id}`, "x-attempt": "1" });
  const { callbacks: secrets } = await secretsOf(BINDINGS);
  const webhook = new Webhook(secrets[0] ?? "");
  for (const { body, headers } of sent) expect(webhook.verify(body, headers)).toBeTruthy();
});

it("progress that hooks tell is sent at most every 10 s, each callback with another webhook-id, and costs no row", async () => {
  const outside = aReplicate(null);
  const task = await aJob();
  await tell(task, 10);
  await callbacks(outside, 1);
  const rows = await rowsOf(task.id);
  pass(9_999);
  await tell(task, 20);
  pass(1);
  await tell(task, 30);
  const sent = await callbacks(outside, 2);
  expect(sent.map(({ body }) => JSON.parse(body).progress)).toEqual([10, 30]);
  expect(new Set(sent.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
  expect(rows()).toBe(0);
});

it("a progress callback that its receiver refuses is not sent again, and is logged", async () => {
  const outside = aReplicate(40, 503);
  const task = await aJob();
  const lines = await loggedBy(async () => {
    await poll(task);
    await callbacks(outside, 1);
    await restart(task.id, BINDINGS);
    await poll(task);
    await callbacks(outside, 2);
  });
  const told = () => lines.filter((line) => "progress" in line);
  await until(() => told().length === 2);
  const line = { event: "callback.progress", task_id: task.id, progress: 40, account: null };
  const refused = { host: "client.example.net", outcome: "rejected", status_code: 503 };
  expect(told()).toEqual([1, 2].map(() => ({ ...line, ...refused, duration_ms: 0 })));
  expect(await read(task.id)).toMatchObject({ callback: { status: "waiting", attempts: [] } });
});

it("a progress callback that was not sent, because its host was paused, does not delay the next one", async () => {
  const outside = aReplicate(null);
  const pause = `/v1/hosts/${new URL(CALLBACK_URL).host}/pause`;
  await call(pause, { method: "PUT", body: {} });
  const task = await aJob();
  await tell(task, 10);
  await untilIdle(task.id);
  await call(pause, { method: "DELETE" });
  // The isolate still uses the list that it has read, and reads it again.
  pass(9_000);
  await tell(task, 20);
  await untilIdle(task.id);
  pass(500);
  await tell(task, 30);
  const sent = await callbacks(outside, 1);
  expect(sent.map(({ body }) => JSON.parse(body).progress)).toEqual([30]);
});

it("a task whose receiver does not ask for progress has no progress callback, and one that reports itself as running has one without a percentage", async () => {
  const outside = aReplicate(40);
  const quiet = await aJob(null);
  await poll(quiet);
  const told = await register({ callback_events: ASKED });
  await report({ id: told, status: "processing" });
  const sent = await callbacks(outside, 1);
  expect(sent.map(({ body }) => JSON.parse(body))).toMatchObject([{ id: told, progress: null }]);
});

it("a progress callback is not sent to a URL that the relay's settings forbid since the registration", async () => {
  const outside = aReplicate(40);
  const task = await aJob();
  await restart(task.id, { ...BINDINGS, PUBLIC_URL: "https://client.example.net" });
  const lines = await loggedBy(() => poll(task));
  await until(() => lines.some((line) => "progress" in line));
  expect(lines).toContainEqual(
    expect.objectContaining({ event: "callback.progress", outcome: "blocked" }),
  );
  expect(outside.sentTo(CALLBACK_URL)).toEqual([]);
});

it.each([
  ["completed", ["failed", "progress"], aCompletion],
  ["failed", ["completed"], aFailure],
])(
  "a task that has %s, whose receiver takes only %j, has no callback; GET shows these events before",
  async (status, callback_events, end) => {
    const received = aReceiver();
    const id = await register({ callback_events });
    expect(await read(id)).toMatchObject({
      callback: { status: "waiting", events: callback_events },
    });
    await finish(end(id));
    expect(await read(id)).toMatchObject({ status, callback: null });
    expect(received).toEqual([]);
  },
);

it("the default events may be stated in any order, which changes nothing, and a registration with other events conflicts with the first", async () => {
  aReceiver();
  const id = await register({ callback_events: ["failed", "completed"] });
  expect(await read(id)).not.toHaveProperty("callback.events");
  const body = { id, model: "seedance", callback_url: CALLBACK_URL };
  expect((await post("/v1/tasks", body)).status).toBe(200);
  const other = await post("/v1/tasks", { ...body, callback_events: ASKED });
  expect(await refusal(other)).toMatchObject({ status: 409, code: "task_exists" });
});

it("an event that creates a task may state the events of its callback; for an existing task they are ignored", async () => {
  aReceiver();
  const [created, known] = [crypto.randomUUID(), await register()];
  const fields = { model: "seedance", callback_url: CALLBACK_URL, callback_events: ["failed"] };
  for (const id of [created, known]) {
    await report(aCompletion(id, fields));
    await untilIdle(id);
  }
  expect(await read(created)).toMatchObject({ callback: null });
  expect(await read(known)).toMatchObject({ callback: { status: "delivered" } });
});

it.each([
  ["an empty list", [], "/callback_events"],
  ["an event twice", ["failed", "failed"], "/callback_events"],
  ["an unknown event", ["started"], "/callback_events/0"],
  ["a word in place of a list", "progress", "/callback_events"],
])(
  "a registration or an event with %s as the events of its callback is refused",
  async (_what, value, path) => {
    const fields = { model: "m", callback_events: value };
    const answers = [
      await post("/v1/tasks", fields),
      await report(aCompletion(crypto.randomUUID(), fields)),
    ];
    const refused = invalid(path);
    expect(await Promise.all(answers.map(refusal))).toEqual([refused, refused]);
  },
);

it("a submission may state the events of its callback as Relay-Callback-Events", async () => {
  anArk();
  const { id, headers } = named({ "Relay-Callback-Events": "progress, completed" });
  expect((await submit({ headers })).status).toBe(200);
  expect(await readSubmitted(id)).toMatchObject({
    callback: { events: ["completed", "progress"] },
  });
});

it.each(["", "progress,", "started", "completed;failed"])(
  "a submission with the Relay-Callback-Events %j is refused, and not sent",
  async (text) => {
    const outside = anArk();
    const response = await submit(named({ "Relay-Callback-Events": text }));
    expect((await refusal(response)).code).toBe("invalid_request");
    expect(outside.sentTo(ARK)).toEqual([]);
  },
);
