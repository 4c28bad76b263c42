import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { ROUTES } from "../../src/api/routes.ts";
import { anAccount, anImportedKey } from "./accounts.ts";
import { call, callWith, invalid, OPERATOR_KEY, post, ProblemBody, refusal } from "./client.ts";
import { UNAUTHENTICATED, UNKNOWN_TASK } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { aLinkedTask, linkedOf, open, WAYS } from "./links.ts";
import { evict, stored, stubOf } from "./objects.ts";
import { aRateLimit, sendFrom } from "./rate-limits.ts";
import { aFailure, cancel, erase, report } from "./tasks.ts";

useClock();

const DAY_S = DAY_MS / 1000;
const OTHER_SECRET = "another-relay-secret-0123456789abcdef";
const ALTERED =
  "The status token was altered or cut off, or belongs to another task or another relay.";

const AnyRecord = z.looseObject({ recordedAt: z.int() });

const withSecret = (RELAY_SECRET: string) => ({ ...env, RELAY_SECRET });

async function detailOf(response: Response): Promise<string> {
  expect(response.headers.get("WWW-Authenticate")).toBe('Bearer realm="task-relay"');
  expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  const { status: code, detail } = ProblemBody.parse(await response.json());
  expect(code).toBe(401);
  return detail;
}

it("a status token that was altered, cut off or made for another task is refused with 401 and a sentence that says so", async () => {
  const { id, token } = await aLinkedTask();
  const other = await aLinkedTask();
  const [, created, expires, recorded, mac] = /^st_(\d+)_(\d+)_(\d+)_(.{43})$/.exec(token) ?? [];
  const tokens = [
    "",
    "st_",
    token.slice(0, -1),
    `${token}A`,
    token.replace(/^st_/, "ST_"),
    `st_${created}_${Number(expires) + 1}_${recorded}_${mac}`,
    `st_${Number(created) + 1}_${expires}_${recorded}_${mac}`,
    `st_${created}_0${expires}_${recorded}_${mac}`,
    `st_${created}_${expires}_${Number(recorded) + 1}_${mac}`,
    `st_${created}_${expires}_${mac}`,
    other.token,
  ];
  for (const path of [`/v1/tasks/${id}`, `/v1/tasks/${id}/events`]) {
    for (const one of tokens) {
      const asked = `${path}?token=${encodeURIComponent(one)}`;
      expect([one, await detailOf(await open(asked))]).toEqual([one, ALTERED]);
    }
    expect(await detailOf(await call(path, { key: other.token }))).toBe(ALTERED);
  }
  expect(await detailOf(await open(`/v1/tasks/42?token=${token}`))).toBe(ALTERED);
});

it.each(WAYS)(
  "a status token %s is refused from 24 hours after the deadline of its task, with 401 and the time at which it expired",
  async (_, readBy) => {
    const task = await aLinkedTask({ deadline_at: START_S + 60 });
    const endsAt = (START_S + 60 + DAY_S) * 1000;
    vi.setSystemTime(endsAt - 1);
    expect((await readBy(task)).status).toBe(200);
    vi.setSystemTime(endsAt);
    expect(await detailOf(await readBy(task))).toBe(
      `The status token expired at ${new Date(endsAt).toISOString()}.`,
    );
  },
);

it("a status token is accepted under every RELAY_SECRET, is made with the first one, and is refused once its secret is gone", async () => {
  const { link } = await aLinkedTask();
  const both = `${OTHER_SECRET} ${env.RELAY_SECRET}`;
  expect((await callWith(withSecret(both), link, { key: null })).status).toBe(200);
  expect(await detailOf(await callWith(withSecret(OTHER_SECRET), link, { key: null }))).toBe(
    ALTERED,
  );
  const fresh = await linkedOf(
    await callWith(withSecret(both), "/v1/tasks", { body: { model: "m" } }),
  );
  expect((await callWith(withSecret(OTHER_SECRET), fresh.link, { key: null })).status).toBe(200);
});

it("a status token does not open a later task under the id of the task that it was made for", async () => {
  const first = await aLinkedTask({ callback_url: null });
  await report(aFailure(first.id));
  await erase(first.id);
  pass(1000);
  const second = await aLinkedTask({ id: first.id });
  expect(await refusal(await open(first.link))).toEqual(UNKNOWN_TASK);
  expect((await open(second.link)).status).toBe(200);
});

it("the status link of a task does not open a later task under the same id, registered in the same second; the links of each answer for the later one do", async () => {
  const fields = { callback_url: null };
  const first = await aLinkedTask(fields);
  expect((await cancel(first.id)).status).toBe(200);
  expect((await erase(first.id)).status).toBe(204);
  const second = await aLinkedTask({ ...fields, id: first.id });
  const again = await aLinkedTask({ ...fields, id: first.id });
  expect(again.link).toBe(second.link);
  for (const [, readBy] of WAYS) {
    expect(await refusal(await readBy(first))).toEqual(UNKNOWN_TASK);
    expect((await readBy(second)).status).toBe(200);
  }
});

it("the status link of a task does not open a later task under the same id for which an event states the same created_at", async () => {
  const first = await aLinkedTask({ callback_url: null });
  await cancel(first.id);
  await erase(first.id);
  pass(DAY_MS / 2);
  const event = { ...aFailure(first.id), model: "m", created_at: START_S };
  expect((await report(event)).status).toBe(202);
  expect(await refusal(await open(first.link))).toEqual(UNKNOWN_TASK);
});

it("a task that an earlier release has created keeps the status link of that release, also in the answer to a repeated registration", async () => {
  const fields = { callback_url: null };
  const { id } = await aLinkedTask(fields);
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    const { recordedAt: _at, ...record } = AnyRecord.parse(storage.kv.get("task"));
    storage.kv.put("task", record);
  });
  await evict(id);
  const { link, token } = await aLinkedTask({ ...fields, id });
  expect(token).toMatch(/^st_\d+_\d+_[\w-]{43}$/);
  expect((await open(link)).status).toBe(200);
  await cancel(id);
  await erase(id);
  await aLinkedTask({ ...fields, id });
  expect(await refusal(await open(link))).toEqual(UNKNOWN_TASK);
});

it("a request that shows a status token as parameter and also has the header Authorization is refused with 400", async () => {
  const { link, token } = await aLinkedTask();
  for (const key of [OPERATOR_KEY, token, "no-key-at-all"]) {
    const response = await call(link, { key });
    expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
    expect(await refusal(response)).toEqual(invalid("/token"));
  }
  expect(await refusal(await open(`${link}&token=${token}`))).toEqual(invalid("/token"));
});

it("a status token opens no route but GET and HEAD of the task and its events, and changes nothing", async () => {
  const { id, token } = await aLinkedTask({ callback_url: null });
  await report(aFailure(id));
  const before = await stored(id);
  const opened: string[] = [];
  for (const { method, path, access } of ROUTES) {
    if (access === "anyone") continue;
    const filled = path.replace("{id}", id).replaceAll(/\{\w+\}/g, "1");
    const body = method === "POST" ? {} : undefined;
    const byKey = await call(filled, { method, body, key: token });
    const byQuery = await call(`${filled}?token=${token}`, { method, body, key: null });
    if (byKey.ok && byQuery.ok) opened.push(`${method} ${path}`);
    else expect([path, byKey.status, byQuery.status]).toEqual([path, 401, 401]);
  }
  expect(opened).toEqual(["GET /v1/tasks/{id}", "GET /v1/tasks/{id}/events"]);
  expect((await call(`/v1/tasks/${id}`, { method: "HEAD", key: token })).status).toBe(200);
  for (const method of ["PUT", "PATCH", "POST"]) {
    const response = await call(`/v1/tasks/${id}?token=${token}`, { method, key: null });
    expect([response.status, response.headers.get("Allow")]).toEqual([
      405,
      "GET, HEAD, DELETE, OPTIONS",
    ]);
  }
  expect(await stored(id)).toEqual(before);
});

it("an imported key that begins like a status token reads the tasks of its account", async () => {
  const account = await anAccount();
  const task = await aLinkedTask({ account });
  const { key } = await anImportedKey(account, `st_${crypto.randomUUID()}`);
  const response = await call(`/v1/tasks/${task.id}`, { key });
  expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  expect(await response.json()).toMatchObject({ id: task.id, account });
});

it("LIMIT_REFUSALS counts wrong status tokens once each, and neither right ones nor expired ones", async () => {
  const counter = aRateLimit(2);
  const limit = vi.fn<RateLimit["limit"]>((options) => counter.limit(options));
  const bindings = { ...env, LIMIT_REFUSALS: { limit } };
  const { id, link } = await aLinkedTask({ deadline_at: START_S + 60 });
  const send = async (path: string, key: string | null = null) =>
    (await sendFrom("192.0.2.1", bindings, { path, key })).status;
  expect(await send(link)).toBe(200);
  const wrong = `st_${START_S}_${START_S}_${"A".repeat(43)}`;
  expect(await send(`/v1/tasks/${id}?token=${wrong}`)).toBe(401);
  expect(await send(`/v1/tasks/${id}`, wrong)).toBe(401);
  expect(await send(`/v1/tasks/${id}/events?token=${wrong}`)).toBe(429);
  expect(await send(link)).toBe(200);
  vi.setSystemTime(START + 2 * DAY_MS);
  expect(await send(link)).toBe(401);
  expect(limit).toHaveBeenCalledTimes(3);
});

it("a task that an event created has no status link: the answer to the event contains none, and a later registration of the task gets 409 task_exists", async () => {
  const id = crypto.randomUUID();
  const response = await report({ id, status: "processing", model: "m" });
  expect(await response.text()).not.toContain("status_url");
  expect(await refusal(await post("/v1/tasks", { id, model: "m" }))).toMatchObject({
    code: "task_exists",
  });
  expect(await refusal(await open(`/v1/tasks/${id}?token=st_`))).toEqual(UNAUTHENTICATED);
});
