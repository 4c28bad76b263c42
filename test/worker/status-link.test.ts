import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { call, callWith, invalid, OPERATOR_KEY, ORIGIN, post, refusal } from "./client.ts";
import { UNKNOWN_TASK } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { aLinkedTask, linkedOf, open, WAYS } from "./links.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, aFailure, erase, finish, report, VIDEO } from "./tasks.ts";

useClock();

const DAY_S = DAY_MS / 1000;

it("POST /v1/tasks returns a status_url that ends 24 hours after the deadline, and the same one for the same registration, also after the task has ended", async () => {
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

it("status_url begins with PUBLIC_URL, and without PUBLIC_URL with the origin of the registration", async () => {
  for (const [bindings, origin] of [
    [{ ...env, PUBLIC_URL: "https://tasks.example.org" }, "https://tasks.example.org"],
    [env, ORIGIN],
  ] as const) {
    const answer = await callWith(bindings, "/v1/tasks", { body: { model: "m" } });
    expect(await answer.text()).toContain(`"status_url":"${origin}/v1/tasks/`);
  }
});

it("a registration repeated after its status link has expired returns a new link for at least a day, and this link again during this day", async () => {
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
  "GET /v1/tasks/{id} with a status token %s shows only the task's status and result and the status of its callback, at every stage",
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
        `"output":{"urls":["${VIDEO}"],"metadata":{}},"callback":{"status":"sending"}}`,
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

it("a task read with a status token has an ETag of its own and headers that let pages of any site read it, also in a 304 and a 404", async () => {
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
  "GET /v1/tasks/{id} with a status token and %s waits up to a second for the end of an open task",
  async (_, query) => {
    const wait = vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => pass(ms));
    const { id, token } = await aLinkedTask();
    const response = await open(`/v1/tasks/${id}${query}token=${token}`, { Prefer: "wait=1" });
    expect(response.status).toBe(200);
    expect(wait.mock.calls).toEqual([[1000]]);
    expect(await refusal(await open(`/v1/tasks/${id}?wait=x&token=${token}`))).toEqual(
      invalid("/wait"),
    );
  },
);

it("a task with a status link that is read with a key has the ETag of the operator's or the account's view and no CORS headers", async () => {
  const account = await anAccount();
  const { id } = await aLinkedTask({ account });
  for (const [key, reader] of [
    [OPERATOR_KEY, "operator"],
    [(await aKey(account)).key, "account"],
  ]) {
    const { headers } = await call(`/v1/tasks/${id}`, { key: key ?? "" });
    expect(headers.get("ETag")).toMatch(new RegExp(`^"\\d+-${reader}"$`));
    expect([...headers.keys()].join()).not.toContain("access-control");
    expect(headers.get("Referrer-Policy")).toBe("same-origin");
  }
});

it.each(["/v1/tasks/{id}", "/v1/tasks/{id}/events"])(
  "OPTIONS %s is answered with 204 and the CORS headers of a GET, whether or not there is such a task",
  async (path) => {
    const response = await open(path.replace("{id}", crypto.randomUUID()), {
      Origin: "https://shop.example.net",
      "Access-Control-Request-Method": "GET",
    });
    expect(response.status).toBe(401);
    const asked = path.replace("{id}", crypto.randomUUID());
    const preflight = await call(asked, { method: "OPTIONS", key: null });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "Authorization, If-None-Match, Last-Event-ID, Prefer",
      "access-control-max-age": "7200",
    });
  },
);
