import { exports } from "cloudflare:workers";
import { env } from "../../src/startup.ts";
import { expect, it, vi } from "vitest";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { claimObject } from "../../src/objects/object-names.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import { aKey, anAccount, anImportedKey, profileStub } from "./accounts.ts";
import { aRequest, call, refusal, UNAUTHENTICATED, UNKNOWN_TASK } from "./client.ts";
import { DAY_MS, pass, START_S, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aLinkedTask } from "./links.ts";
import { untilIdle, wake } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, aFailure, cancel, erase, finish, read, report } from "./tasks.ts";

useClock();

const waits = useHeldWaits();

interface Streamed {
  readonly id: string;
  readonly data: { readonly status: string; readonly callback: object | null };
}

/** Reads a whole stream, which begins with the line `retry`: its events, and the number of its comments. */
async function streamOf(response: Response) {
  expect([response.status, response.headers.get("Content-Type")]).toEqual([
    200,
    "text/event-stream",
  ]);
  const [first, ...blocks] = (await response.text()).split("\n\n");
  expect([first, blocks.pop()]).toEqual(["retry: 2000", ""]);
  const events = blocks.flatMap((block): readonly Streamed[] => {
    const [, id = "", data = ""] = /^event: task\nid: (.+)\ndata: (.+)$/.exec(block) ?? [];
    return data === "" ? [] : [{ id, data: JSON.parse(data) }];
  });
  const comments = blocks.filter((block) => block === ":").length;
  expect(events.length + comments).toBe(blocks.length);
  return { events, comments };
}

/** Returns the stages that a stream shows. The start of an attempt, which shows the stage before it, may be one of its events. */
function stagesOf(events: readonly Streamed[]) {
  const stages = events.map(({ data: { status: stage, callback } }) => [stage, callback] as const);
  return stages.filter((stage, i) => JSON.stringify(stage) !== JSON.stringify(stages[i - 1]));
}

/** Asks for the events of a task with its status token. */
const follow = (link: string, last?: string) =>
  call(link.replace("?", "/events?"), {
    key: null,
    headers: last === undefined ? {} : { "Last-Event-ID": last },
  });

it("GET /v1/tasks/{id}/events with a status token sends the task's state and each change with its version, and ends once the callback has been delivered", async () => {
  aReceiver(status(500), status(204));
  const { id, link } = await aLinkedTask();
  waits.between = async (pause) => {
    if (pause === 1) await report({ id, status: "processing" });
    if (pause === 3) await finish(aCompletion(id));
    if (pause === 5) await wake(id, 180_000);
    await untilIdle(id);
  };
  const response = await follow(link);
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  const { events } = await streamOf(response);
  expect(stagesOf(events)).toEqual([
    ["pending", { status: "waiting" }],
    ["processing", { status: "waiting" }],
    ["completed", { status: "sending" }],
    ["completed", { status: "retrying" }],
    ["completed", { status: "delivered" }],
  ]);
  const etag = (await call(link, { key: null })).headers.get("ETag");
  expect(etag).toBe(`"${events.at(-1)?.id}-link"`);
});

it("a task's event stream shows the operator what GET shows; for the account it lacks the provider, and its last event has the refund", async () => {
  aReceiver(status(204));
  const account = await anAccount(5);
  const { id } = await aLinkedTask({ account, credits: 5, provider: "ark" });
  await cancel(id);
  await untilIdle(id);
  const path = `/v1/tasks/${id}/events`;
  const [operators] = (await streamOf(await call(path))).events;
  expect(operators?.data).toEqual(await read(id));
  const { key } = await aKey(account);
  const owners = await call(path, { key });
  expect(owners.headers.get("Access-Control-Allow-Origin")).toBeNull();
  const { events } = await streamOf(owners);
  expect(events.at(-1)?.data).toMatchObject({ account, credits: { state: "refunded" } });
  expect(JSON.stringify(events)).not.toContain("upstream");
});

it("the event stream of an unchanged task sends a comment every 15 s, reads the task once, and ends after 15 minutes", async () => {
  const reads = vi.spyOn(TaskObject.prototype, "readByLink");
  const { link } = await aLinkedTask();
  const { events, comments } = await streamOf(await follow(link));
  expect(events).toHaveLength(1);
  expect([waits.waitedMs(), comments]).toEqual([900_000, 60]);
  expect(reads).toHaveBeenCalledTimes(1);
});

it("an event stream whose request has the task's present state as Last-Event-ID sends only later changes", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const [first] = (await streamOf(await follow(link))).events;
  waits.between = async (pause) => {
    if (pause === 3) await report(aFailure(id));
  };
  waits.pauses.length = 0;
  const { events } = await streamOf(await follow(link, first?.id));
  expect(stagesOf(events)).toEqual([["failed", null]]);
});

it("the event stream of a settled task sends the task's state once; a request with that state as Last-Event-ID gets 204, so that browsers do not reconnect", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  await report(aFailure(id));
  for (const last of [undefined, "1", "no version"]) {
    const { events } = await streamOf(await follow(link, last));
    expect(stagesOf(events)).toEqual([["failed", null]]);
    const again = await follow(link, events[0]?.id);
    expect([again.status, again.headers.get("Access-Control-Allow-Origin")]).toEqual([204, "*"]);
  }
  expect(waits.pauses).toEqual([]);
});

it("an event stream ends when its task is erased, and the next request for it gets 404", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  waits.between = async (pause) => {
    if (pause !== 2) return;
    await report(aFailure(id));
    await erase(id);
  };
  const { events } = await streamOf(await follow(link));
  expect(stagesOf(events)[0]).toEqual(["pending", null]);
  expect(waits.waitedMs()).toBeLessThan(60_000);
  expect(await refusal(await follow(link))).toEqual(UNKNOWN_TASK);
});

it("an event stream stays open when a read of its task fails because of a fault of the platform", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const lost = Object.assign(new Error("Network connection lost."), { retryable: true });
  const reading = vi.spyOn(TaskObject.prototype, "readByLink");
  waits.between = async (pause) => {
    if (pause === 1) reading.mockRejectedValueOnce(lost);
    if (pause === 2) await report(aFailure(id));
  };
  const { events } = await streamOf(await follow(link));
  expect(stagesOf(events)).toEqual([
    ["pending", null],
    ["failed", null],
  ]);
});

it("an event stream no longer reads its task once its client has closed the connection", async () => {
  const { id, token } = await aLinkedTask();
  const reads = vi.spyOn(TaskObject.prototype, "readByLink");
  const request = aRequest(`/v1/tasks/${id}/events`, { key: token });
  const { body } = await exports.default.fetch(request);
  const reader = body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await report({ id, status: "processing" });
  expect(reads).toHaveBeenCalledTimes(1);
  expect(waits.pauses).toEqual([]);
});

it("GET /v1/tasks/{id}/events without a key gets 401; with a key, it gets 404 for an unknown task and for one of another account", async () => {
  const { id } = await aLinkedTask({ account: await anAccount() });
  const { key } = await aKey(await anAccount());
  const path = `/v1/tasks/${id}/events`;
  expect(await refusal(await call(path, { key: null }))).toEqual(UNAUTHENTICATED);
  expect(await refusal(await call(path, { key }))).toEqual(UNKNOWN_TASK);
  const unknown = `/v1/tasks/${crypto.randomUUID()}/events`;
  expect(await refusal(await call(unknown))).toEqual(UNKNOWN_TASK);
});

/** Removes an API key as another isolate does, so that this one still has its owner in memory. */
async function revokeElsewhere(account: string, { id, key }: { id: string; key: string }) {
  const hash = await sha256Hex(key);
  await claimObject(env, hash).releaseKeyHash(hash, account);
  await profileStub(account).removeKey(id);
}

it.each([
  ["a generated", aKey],
  ["an imported", anImportedKey],
])(
  "an event stream opened with %s API key ends within a minute after the key is revoked, and shows no later change",
  async (_, keyOf) => {
    const account = await anAccount();
    const key = await keyOf(account);
    const { id } = await aLinkedTask({ account, callback_url: null });
    waits.between = async (pause) => {
      if (pause === 1) await revokeElsewhere(account, key);
      if (waits.waitedMs() >= 61_000) await report(aFailure(id));
    };
    const response = await call(`/v1/tasks/${id}/events`, { key: key.key });
    const { events } = await streamOf(response);
    expect(stagesOf(events)).toEqual([["pending", null]]);
    expect(waits.waitedMs()).toBeLessThanOrEqual(65_000);
    const again = await call(`/v1/tasks/${id}/events`, { key: key.key });
    expect(await refusal(again)).toEqual(UNAUTHENTICATED);
  },
);

it("an event stream opened with an API key ends at its next read when the key is revoked in the same isolate", async () => {
  const account = await anAccount();
  const { id: keyId, key } = await aKey(account);
  const { id } = await aLinkedTask({ account, callback_url: null });
  waits.between = async () => {
    await call(`/v1/accounts/${account}/keys/${keyId}`, { method: "DELETE" });
    await report(aFailure(id));
  };
  const { events } = await streamOf(await call(`/v1/tasks/${id}/events`, { key }));
  expect(stagesOf(events)).toEqual([["pending", null]]);
});

it("an event stream whose API key stays valid lasts 15 minutes, looks up the key once a minute, and reads its task once", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const { id } = await aLinkedTask({ account });
  const lookUps = vi.spyOn(AccountObject.prototype, "useListedKey");
  const reads = vi.spyOn(TaskObject.prototype, "read");
  await streamOf(await call(`/v1/tasks/${id}/events`, { key }));
  expect([waits.waitedMs(), reads.mock.calls.length]).toEqual([900_000, 1]);
  expect(lookUps.mock.calls.length).toBeLessThanOrEqual(16);
  expect(lookUps.mock.calls.length).toBeGreaterThanOrEqual(14);
});

it("an event stream stays open when the account of its API key cannot be looked up because of a fault of the platform", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const { id } = await aLinkedTask({ account, callback_url: null });
  const lost = Object.assign(new Error("Network connection lost."), { retryable: true });
  // From here on this isolate has the owner of the key in memory.
  await call(`/v1/tasks/${id}`, { key });
  const lookUp = vi.spyOn(AccountObject.prototype, "useListedKey").mockRejectedValueOnce(lost);
  waits.between = async () => {
    if (waits.waitedMs() >= 120_000) await report(aFailure(id));
  };
  const { events } = await streamOf(await call(`/v1/tasks/${id}/events`, { key }));
  expect(lookUp.mock.settledResults[0]?.type).toBe("rejected");
  expect(stagesOf(events)).toEqual([
    ["pending", null],
    ["failed", null],
  ]);
});

it("GET /v1/tasks/{id}?wait=60 gets 401 when its API key was revoked 61 s before the task changed", async () => {
  const account = await anAccount();
  const key = await aKey(account);
  const { id } = await aLinkedTask({ account, callback_url: null });
  expect((await call(`/v1/tasks/${id}`, { key: key.key })).status).toBe(200);
  await revokeElsewhere(account, key);
  pass(59_000);
  waits.between = async () => {
    pass(2000);
    await report(aFailure(id));
    return true;
  };
  const answer = await refusal(await call(`/v1/tasks/${id}?wait=60`, { key: key.key }));
  expect(answer).toEqual(UNAUTHENTICATED);
});

it("an event stream and a waiting GET that were opened with a status token end when the token expires, and show no later change", async () => {
  const task = { deadline_at: START_S + 60, callback_url: null };
  const { id, link } = await aLinkedTask(task);
  const { link: other } = await aLinkedTask(task);
  pass(60_000 + DAY_MS - 30_000);
  waits.between = (pause) => (pause > 2 ? report(aFailure(id)) : Promise.resolve());
  const { events } = await streamOf(await follow(link));
  expect(stagesOf(events)).toEqual([["pending", null]]);
  expect(waits.pauses).toEqual([15_000, 15_000]);
  pass(-4000);
  const waited = await call(`${other}&wait=60`, { key: null });
  expect(await refusal(waited)).toEqual(UNAUTHENTICATED);
});
