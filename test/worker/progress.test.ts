import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { callWith } from "./client.ts";
import { pass, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { attach, type Hooked, hooked, sendHook } from "./hooked.ts";
import { evict, rowsOf, stored, wake } from "./objects.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { found, SENDERS } from "./senders.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();
const waits = useHeldWaits();

const KEYED = { ...env, REPLICATE_API_TOKEN: "test-only-token" };
const VIDEO = "https://replicate.delivery/out.mp4";
const replicate = found(SENDERS, ({ provider }) => provider === "replicate");

/** Running job at Replicate whose model has logged a progress bar. */
const running = (percent: number) => ({
  id: "job-1",
  status: "processing",
  logs: `Using seed: 1\n${percent}%|███   | 5/9 [00:01]`,
});

function aReplicate(body: object): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering(""));
  outside.on("https://api.replicate.com", answering(body));
  return outside;
}

/** Registers a task with a job of which a poll has reported the progress. */
async function polled(bindings: object = KEYED, fields: object = {}): Promise<Hooked> {
  const task = await hooked({ provider: "replicate", bindings, fields });
  await attach(task, "job-1");
  await poll(task);
  return task;
}

/** Runs the next alarm of a task, at which its job is polled. */
async function poll({ id }: Hooked): Promise<void> {
  await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
}

/** Reads a task. @returns the status, the progress and the part of the ETag before the role. */
async function seen({ id, bindings }: Hooked, headers = {}, query = "", key?: string) {
  const own = key === undefined ? {} : { key };
  const response = await callWith(bindings, `/v1/tasks/${id}${query}`, { headers, ...own });
  const tag = response.headers.get("ETag") ?? "";
  if (response.status === 304) return { status: 304, tag };
  const { progress } = await response.json<{ progress?: unknown }>();
  return { status: response.status, tag, progress };
}

it("GET /v1/tasks/{id} of an open task shows its operator and owner the progress that the upstream states, which is also part of the ETag", async () => {
  aReplicate(running(40));
  const account = await anAccount();
  const task = await polled(KEYED, { account });
  const { key } = await aKey(account);
  const tags = [await seen(task), await seen(task, {}, "", key)];
  expect(tags).toEqual([
    { status: 200, progress: 40, tag: expect.stringMatching(/^"\d+\.40-operator-[0-9a-f]+"$/) },
    { status: 200, progress: 40, tag: expect.stringMatching(/^"\d+\.40-account"$/) },
  ]);
});

it("the status link of an open task shows the progress that the upstream states, as JSON with its own ETag and on its page", async () => {
  const outside = aReplicate(running(40));
  const task = await polled();
  const body = { id: task.id, model: "m", callback_url: CALLBACK_URL, provider: "replicate" };
  const again = await callWith(KEYED, "/v1/tasks", { body });
  const { status_url } = await again.json<{ status_url: string }>();
  const { pathname, search } = new URL(status_url);
  const open = async () => {
    const response = await callWith(KEYED, pathname + search, { key: null });
    return [(await response.json<{ progress: unknown }>()).progress, response.headers.get("ETag")];
  };
  expect(await open()).toEqual([40, expect.stringMatching(/^"\d+\.40-link"$/)]);
  outside.on("https://api.replicate.com", answering(running(77)));
  await poll(task);
  expect(await open()).toEqual([77, expect.stringMatching(/^"\d+\.77-link"$/)]);
  const page = await (await visit(pathname + search, undefined, {}, KEYED)).text();
  expect(page).toContain(
    '<progress class="result-progress" aria-label="Progress" max="100" value="77">',
  );
  expect(page).toContain("77 % done, requested ");
});

it("a poll that finds nothing new except progress writes one row, for the task's next alarm, and does not store the progress", async () => {
  const outside = aReplicate(running(40));
  const task = await polled();
  outside.on("https://api.replicate.com", answering(running(77)));
  const { record } = await stored(task.id);
  const rows = await rowsOf(task.id);
  await poll(task);
  expect(rows()).toBe(1);
  expect(await seen(task)).toMatchObject({ progress: 77 });
  expect((await stored(task.id)).record).toEqual(record);
});

it("a task shows no progress once its object was evicted, another job is attached, a poll finds no progress, or the task has ended", async () => {
  const outside = aReplicate(running(40));
  const task = await polled();
  const unknown = { progress: undefined, tag: expect.stringMatching(/^"\d+-operator-[0-9a-f]+"$/) };
  await evict(task.id);
  expect(await seen(task)).toMatchObject(unknown);
  const { bindings } = task;
  const known = await polled(bindings);
  await attach(known, "job-2");
  expect(await seen(known)).toMatchObject(unknown);
  const other = await polled(bindings);
  outside.on("https://api.replicate.com", answering({ id: "job-1", status: "processing" }));
  await poll(other);
  expect(await seen(other)).toMatchObject(unknown);
  outside.on("https://api.replicate.com", answering(running(99)));
  await poll(other);
  const done = { ...running(100), status: "succeeded", output: VIDEO };
  outside.on("https://api.replicate.com", answering(done));
  await poll(other);
  expect(await seen(other)).toMatchObject(unknown);
});

it("after a poll that found nothing new, GET of the task with the previous ETag answers 200 to the operator, whose field tracking has changed, and 304 to the account", async () => {
  aReplicate(running(40));
  const account = await anAccount();
  const task = await polled(KEYED, { account });
  const { key } = await aKey(account);
  for (const [own, status] of [
    [undefined, 200],
    [key, 304],
  ] as const) {
    const { tag } = await seen(task, {}, "", own);
    await poll(task);
    const earlier = { "If-None-Match": tag };
    expect(await seen(task, earlier, "", own)).toMatchObject({ status });
    waits.pauses.length = 0;
    expect(await seen(task, earlier, "?wait=5", own)).toMatchObject({ status });
    expect(waits.waitedMs()).toBe(5_000);
  }
});

it("GET /v1/tasks/{id}?wait=30 with the task's ETag in If-None-Match is answered as soon as the task's progress changes", async () => {
  const outside = aReplicate(running(40));
  const task = await polled();
  const { tag } = await seen(task);
  waits.between = async () => {
    outside.on("https://api.replicate.com", answering(running(41)));
    await poll(task);
    return true;
  };
  const answer = await seen(task, { "If-None-Match": tag }, "?wait=30");
  expect(answer).toMatchObject({ status: 200, progress: 41 });
  expect(await seen(task, { "If-None-Match": answer.tag })).toMatchObject({ status: 304 });
});

it("the request that refreshes the console's page of a task is answered when the task's progress differs from that on the page", async () => {
  const outside = aReplicate(running(40));
  const task = await polled();
  const cookie = await logIn(undefined, KEYED);
  const pageAfter = async (headers: Readonly<Record<string, string>>) =>
    (await visit(`/tasks/${task.id}`, cookie, headers, KEYED)).text();
  const [, shown = ""] = /data-version="([^"]+)"/.exec(await pageAfter({})) ?? [];
  waits.between = async (wait) => {
    if (wait > 1) return false;
    outside.on("https://api.replicate.com", answering(running(41)));
    const now = Date.now();
    await poll(task);
    pass(now - Date.now());
    return true;
  };
  expect(await pageAfter({ "X-Refresh": shown })).toContain('value="41"');
  expect(waits.pauses).toEqual([55_000]);
});

it.each([
  [
    "shows the progress that a hook states when its signature is verified",
    replicate.secretVars,
    63,
  ],
  [
    "does not show the progress that a hook states when no secret is configured to verify the hook",
    {},
    undefined,
  ],
])("GET /v1/tasks/{id} of an open task %s", async (_, secretVars, progress) => {
  const bindings = { ...env, ...secretVars };
  const task = await hooked({ provider: "replicate", bindings });
  await attach(task, "job-1");
  const body = JSON.stringify(running(63));
  const headers = await replicate.sign(body, task);
  expect((await sendHook(task, body, headers)).status).toBe(200);
  expect(await seen(task)).toMatchObject({ status: 200, progress });
});
