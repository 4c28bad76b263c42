import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount, anImportedKey } from "./accounts.ts";
import {
  call,
  callWith,
  invalid,
  OPERATOR_KEY,
  ORIGIN,
  post,
  refusal,
  UNKNOWN_TASK,
  ProblemBody,
  UNAUTHENTICATED,
} from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aLinkedTask, linkedOf, open, WAYS } from "./links.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, aFailure, erase, finish, report, VIDEO, cancel } from "./tasks.ts";
import { stored } from "./objects.ts";
import { aRateLimit, sendFrom } from "./rate-limits.ts";

useClock();
const waits = useHeldWaits();

const DAY_S = DAY_MS / 1000;

it("POST /v1/tasks returns a status_url that expires 24 hours after the deadline, and returns the same one when repeated, even after the task has ended", async () => {
  aReceiver();
  const body = { id: crypto.randomUUID(), model: "m" };
  const first = await linkedOf(await post("/v1/tasks", body));
  expect(first.token).toMatch(
    new RegExp(`^st_${START_S}_${START_S + 72 * 3600 + DAY_S}_${START}_[\\w-]{43}$`),
  );
  expect(await linkedOf(await post("/v1/tasks", body))).toEqual(first);
  pass(DAY_MS);
  await finish(aCompletion(body.id));
  expect(await linkedOf(await post("/v1/tasks", body))).toEqual(first);
  const { token } = await aLinkedTask({ deadline_at: START_S + 2 * DAY_S });
  expect(token).toContain(`_${START_S + 3 * DAY_S}_`);
});

it("a task's status_url begins with PUBLIC_URL or, if this is not set, with the origin to which the registration was sent", async () => {
  for (const [bindings, origin] of [
    [{ ...env, PUBLIC_URL: "https://tasks.example.org" }, "https://tasks.example.org"],
    [{ ...env, PUBLIC_URL: "" }, ORIGIN],
  ] as const) {
    const answer = await callWith(bindings, "/v1/tasks", { body: { model: "m" } });
    expect(await answer.text()).toContain(`"status_url":"${origin}/v1/tasks/`);
  }
});

it("a registration that is repeated after its status link has expired gets a new link, valid for at least a day, and further repeats return the same one", async () => {
  const body = { id: crypto.randomUUID(), model: "m", deadline_at: START_S + 60 };
  const register = async () => linkedOf(await post("/v1/tasks", body));
  const first = await register();
  pass(60_000 + DAY_MS);
  const second = await register();
  expect(second.token).toContain(`_${START_S + 60 + 3 * DAY_S}_`);
  pass(DAY_MS - 1000);
  expect(await register()).toEqual(second);
  expect((await open(first.link)).status).toBe(401);
  expect((await open(second.link)).status).toBe(200);
});

it.each(WAYS)(
  "GET /v1/tasks/{id} with a status token %s shows only the task's status, its result and the status of its callback, at every stage",
  async (_, readBy) => {
    aReceiver(status(500, "the receiver's answer"));
    const account = await anAccount(9);
    const secret = { metadata: { note: "not for links" }, provider: "ark", account, credits: 2 };
    const task = await aLinkedTask(secret);
    const { id } = task;
    const head = { id, model: "m", created_at: START_S };
    const seen = async () => (await readBy(task)).json();
    const waiting = { callback: { status: "waiting" } };
    expect(await seen()).toEqual({ ...head, status: "pending", ...waiting });
    await report({ id, status: "processing" });
    expect(await seen()).toEqual({ ...head, status: "processing", ...waiting });
    await finish(aCompletion(id, { completed_at: START_S - 5 }));
    expect(await (await readBy(task)).text()).toBe(
      `{"id":"${id}","status":"completed","model":"m","created_at":${START_S},"completed_at":${START_S - 5},` +
        `"output":{"urls":["${VIDEO}"],"metadata":{}},"callback":{"status":"retrying"}}`,
    );
    const failed = await aLinkedTask({ callback_url: null });
    await finish(aFailure(failed.id));
    const error = { code: "moderation", message: "Refused." };
    expect(await (await readBy(failed)).json()).toEqual({
      ...head,
      id: failed.id,
      status: "failed",
      error,
      callback: null,
    });
  },
);

it("a task read with a status token has its own ETag, and headers that let pages of any site read the response, including a 304 and a 404", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const response = await open(link, { Origin: "https://shop.example.net" });
  const cors = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag, Retry-After",
    "referrer-policy": "no-referrer",
  };
  expect(Object.fromEntries(response.headers)).toMatchObject({
    ...cors,
    "cache-control": "private, no-cache",
    vary: "Authorization, Accept",
    etag: expect.stringMatching(/^"\d+-link"$/),
    "retry-after": "5",
  });
  const etag = response.headers.get("ETag") ?? "";
  const unchanged = await open(link, { "If-None-Match": etag });
  expect([unchanged.status, Object.fromEntries(unchanged.headers)]).toEqual([
    304,
    expect.objectContaining(cors),
  ]);
  expect((await call(`/v1/tasks/${id}`, { headers: { "If-None-Match": etag } })).status).toBe(200);
  await report(aFailure(id));
  await erase(id);
  const gone = await open(link);
  expect(Object.fromEntries(gone.headers)).toMatchObject(cors);
  expect(await refusal(gone)).toEqual(UNKNOWN_TASK);
});

it.each([
  ["?wait=1 besides the header Prefer: wait=1", "?wait=1&"],
  ["the header Prefer: wait=1", "?"],
])(
  "GET /v1/tasks/{id} of an open task with a status token and %s waits up to a second for the task's end",
  async (_, query) => {
    const { id, token } = await aLinkedTask();
    const response = await open(`/v1/tasks/${id}${query}token=${token}`, { Prefer: "wait=1" });
    expect(response.status).toBe(200);
    expect(waits.pauses).toEqual([1000]);
    expect(await refusal(await open(`/v1/tasks/${id}?wait=x&token=${token}`))).toEqual(
      invalid("/wait"),
    );
  },
);

it("when a task with a status link is read with an API key, the response has the ETag of the operator's or the account's view, and no CORS headers", async () => {
  const account = await anAccount();
  const { id } = await aLinkedTask({ account });
  for (const [key, reader] of [
    [OPERATOR_KEY, "operator-[0-9a-f]+"],
    [(await aKey(account)).key, "account"],
  ]) {
    const { headers } = await call(`/v1/tasks/${id}`, { key: key ?? "" });
    expect(headers.get("ETag")).toMatch(new RegExp(`^"\\d+-${reader}"$`));
    expect([...headers.keys()].join()).not.toContain("access-control");
    expect(headers.get("Referrer-Policy")).toBe("same-origin");
  }
});

it.each(["/v1/tasks/{id}", "/v1/tasks/{id}/events"])(
  "OPTIONS %s gets 204 with CORS headers that allow GET and HEAD, even for an unknown id, and no Durable Object is called",
  async (path) => {
    const { id } = await aLinkedTask();
    const response = await open(path.replace("{id}", crypto.randomUUID()), {
      Origin: "https://shop.example.net",
      "Access-Control-Request-Method": "GET",
    });
    expect(response.status).toBe(401);
    const asked = vi.spyOn(env.TASKS, "getByName");
    for (const each of [id, crypto.randomUUID()]) {
      const message = { method: "OPTIONS", key: null };
      const preflight = await call(path.replace("{id}", each), message);
      expect(preflight.status).toBe(204);
      expect(Object.fromEntries(preflight.headers)).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, HEAD",
        "access-control-allow-headers": "Authorization, If-None-Match, Last-Event-ID, Prefer",
        "access-control-max-age": "7200",
      });
    }
    expect(asked).not.toHaveBeenCalled();
  },
);

const OTHER_SECRET = "another-relay-secret-0123456789abcdef";
const ALTERED =
  "The status token was altered or cut off, or belongs to another task or another relay.";

const withSecret = (RELAY_SECRET: string) => ({ ...env, RELAY_SECRET });

async function detailOf(response: Response): Promise<string> {
  expect(response.headers.get("WWW-Authenticate")).toBe('Bearer realm="task-relay"');
  expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  const { status: code, detail } = ProblemBody.parse(await response.json());
  expect(code).toBe(401);
  return detail;
}

it("a status token that was altered, cut off or made for another task gets 401 with a sentence that says so", async () => {
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
  "from 24 hours after the deadline of its task, a status token %s gets 401 with the time at which it expired",
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

it("a status token is made with the first secret in RELAY_SECRET, and accepted as long as RELAY_SECRET still contains this secret", async () => {
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

it("the status token of an erased task does not open a later task that has the same id", async () => {
  const first = await aLinkedTask({ callback_url: null });
  await report(aFailure(first.id));
  await erase(first.id);
  pass(1000);
  const second = await aLinkedTask({ id: first.id });
  expect(await refusal(await open(first.link))).toEqual(UNKNOWN_TASK);
  expect((await open(second.link)).status).toBe(200);
});

it("an erased task's status link does not open a later task with the same id and the same second of registration; the later task's own links do", async () => {
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

it("the status link of an erased task does not open a later task with the same id that an event has created with the same created_at", async () => {
  const first = await aLinkedTask({ callback_url: null });
  await cancel(first.id);
  await erase(first.id);
  pass(DAY_MS / 2);
  const event = { ...aFailure(first.id), model: "m", created_at: START_S };
  expect((await report(event)).status).toBe(202);
  expect(await refusal(await open(first.link))).toEqual(UNKNOWN_TASK);
});

it("a request that has a status token in its query and also the header Authorization gets 400", async () => {
  const { link, token } = await aLinkedTask();
  for (const key of [OPERATOR_KEY, token, "no-key-at-all"]) {
    const response = await call(link, { key });
    expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
    expect(await refusal(response)).toEqual(invalid("/token"));
  }
  expect(await refusal(await open(`${link}&token=${token}`))).toEqual(invalid("/token"));
});

it("a status token permits only GET and HEAD of its task and of the task's events, and changes nothing", async () => {
  const { id, token } = await aLinkedTask({ callback_url: null });
  await report(aFailure(id));
  const before = await stored(id);
  const opened: string[] = [];
  for (const { method, path, access } of ROUTES) {
    if (access === "anyone") continue;
    const filled = path.replace("{id}", id).replaceAll(/\{\+?\w+\}/g, "1");
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

it("an imported API key that begins like a status token reads the tasks of its account", async () => {
  const account = await anAccount();
  const task = await aLinkedTask({ account });
  const { key } = await anImportedKey(account, `st_${crypto.randomUUID()}`);
  const response = await call(`/v1/tasks/${task.id}`, { key });
  expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  expect(await response.json()).toMatchObject({ id: task.id, account });
});

it("LIMIT_REFUSALS counts each wrong status token once, and counts neither valid nor expired ones", async () => {
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

it("a task that an event created has no status link: the event's response contains none, and a later registration gets 409 task_exists", async () => {
  const id = crypto.randomUUID();
  const response = await report({ id, status: "processing", model: "m" });
  expect(await response.text()).not.toContain("status_url");
  expect(await refusal(await post("/v1/tasks", { id, model: "m" }))).toMatchObject({
    code: "task_exists",
  });
  expect(await refusal(await open(`/v1/tasks/${id}?token=st_`))).toEqual(UNAUTHENTICATED);
});
