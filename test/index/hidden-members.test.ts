import { expect, it } from "vitest";
import * as z from "zod";
import { mayAccount } from "../../src/security/roles.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { logIn, visit } from "../worker/browser.ts";
import { callWith, type Message, refusal, UNKNOWN_TASK } from "../worker/client.ts";
import { useHeldWaits } from "../worker/held-waits.ts";
import { ask } from "../worker/mcp/messages.ts";
import { restart, wake } from "../worker/objects.ts";
import { answering } from "../worker/outside.ts";
import {
  aQueuedRelay,
  configured,
  HOSTS,
  keyOf,
  members,
  queueState,
  readTask,
  work,
} from "../worker/queued-relay.ts";
import { ARK_PATH, BODY, MODEL } from "../worker/submitted.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { pass } from "../worker/clock.ts";
import { useIndex } from "./support.ts";

useIndex();
// The stream of a task that waits would last 15 minutes.
useHeldWaits();

const [A, B] = HOSTS;
const MINUTE = 60_000;
const REFUSAL = "the text with which a member has refused a call";
const BUSY = { error: { code: "InflightBatchsizeExceeded", message: REFUSAL } };
const ENTRY = { in_flight: 1 };

/**
 * Returns a relay with a pool of two members with one place each, on which a job of another account runs and a call of it
 * waits, and a call of an account that waits because a member has refused it.
 */
async function theRelay() {
  const outside = members();
  const plain = await aQueuedRelay({ a: ENTRY, b: ENTRY });
  const { pool } = plain;
  const OFFERS = JSON.stringify([{ connection: pool, models: [MODEL] }]);
  const entries = { a: ENTRY, b: ENTRY, pool: { queue: 4 } };
  const relay = await configured(plain, entries, {
    OFFERS,
    PUBLIC_URL: "https://relay.example.com",
  });
  const [own, other] = [await anAccount(), await anAccount()];
  const [{ key }, { key: otherKey }] = [await aKey(own), await aKey(other)];
  const order = (by: string, id: string, headers: Message["headers"] = {}) =>
    callWith(relay.bindings, `/v1/submit/${pool}${ARK_PATH}`, {
      key: by,
      body: BODY,
      headers: {
        "Content-Type": "application/json",
        "Idempotency-Key": id,
        "Relay-Callback-Url": CALLBACK_URL,
        ...headers,
      },
    });
  const wait = async (by: string, id: string) => {
    pass(1);
    const response = await order(by, id, { Prefer: "respond-async" });
    expect(response.status).toBe(202);
    return { response, id: z.object({ id: z.string() }).parse(await response.clone().json()).id };
  };
  const running = await wait(otherKey, "running");
  await work(relay, running.id);
  // The other member refuses the call, which then waits.
  outside.on(B, answering(BUSY, 429));
  const first = await wait(key, "first");
  await work(relay, first.id);
  const waiting = await wait(otherKey, "waiting");
  for (const { id } of [running, first, waiting]) {
    await restart(id, relay.bindings);
    await wake(id, MINUTE);
  }
  return { relay, outside, own, other, key, order, running, waiting, first };
}

/** Collects the texts and headers of answers. */
class Shown {
  readonly texts: string[] = [];

  async note(response: Response): Promise<Response> {
    this.texts.push(await response.clone().text(), JSON.stringify([...response.headers]));
    return response;
  }

  get all(): string {
    return this.texts.join("\n");
  }
}

it("an account's key reads of a pool neither members nor attempts, and nothing of what other accounts have waiting there: in answers, every route, lists, MCP, the console and refusals", async () => {
  const { relay, own, other, key, order, running, waiting, first } = await theRelay();
  const [a, b] = relay.names;
  // What is to be hidden is there, and operators see it.
  expect([await queueState(a), await queueState(b)]).toMatchObject([{ held: 1 }, { waiting: 2 }]);
  expect(await readTask(relay, first.id)).toMatchObject({
    submission: { attempts: [{ connection: b, refusal: "busy" }] },
  });
  const seen = await (await callWith(relay.bindings, "/v1/tasks?submission=queued")).text();
  expect(seen).toContain(waiting.id);

  const shown = new Shown();
  const get = async (path: string) => shown.note(await callWith(relay.bindings, path, { key }));
  await shown.note(first.response);
  await shown.note(await order(key, "first", { Prefer: "respond-async" }));
  for (const target of [
    { id: first.id, account: own },
    { id: waiting.id, account: other },
  ]) {
    for (const { method, path, access } of ROUTES) {
      if (method !== "GET" || access === "anyone") continue;
      const filled = path
        .replace("{id}", target.id)
        .replace("{account}", target.account)
        .replace("{connection}", relay.pool)
        .replace(/\{\w+\}/g, "1");
      const response = await get(filled);
      if (!mayAccount("full", access)) expect([filled, response.status]).toEqual([filled, 403]);
    }
  }
  const list = await get("/v1/tasks?submission=queued");
  const { data } = z
    .object({ data: z.array(z.looseObject({ id: z.string() })) })
    .parse(await list.json());
  expect(data.map(({ id }) => id)).toEqual([first.id]);
  for (const query of [`provider=${a}`, `account=${other}`, "refusal=busy"]) {
    expect((await get(`/v1/tasks?${query}`)).status).toBe(400);
  }
  const cancel = { method: "POST", key };
  const path = `/v1/tasks/${waiting.id}/cancel`;
  const answer = await shown.note(await callWith(relay.bindings, path, cancel));
  expect(await refusal(answer)).toEqual(UNKNOWN_TASK);

  const asking = { key, bindings: relay.bindings };
  const tool = async (name: string, given: object) =>
    JSON.stringify(await ask("tools/call", { name, arguments: given }, asking));
  const listed = await tool("list_tasks", { submission: "queued" });
  expect(listed).toContain(first.id);
  const read = await tool("read_task", { id: first.id });
  expect(read).toContain("queued");
  const unknown = await tool("read_task", { id: waiting.id });
  expect(unknown).toContain("unknown_task");
  shown.texts.push(listed, read, unknown);

  const cookie = await logIn(key, relay.bindings);
  const pages = ["/", "/tasks", "/tasks?submission=queued", `/tasks/${first.id}`, "/account"];
  const foreign = ["/providers", "/problems", `/tasks/${waiting.id}`];
  for (const page of [...pages, ...foreign]) {
    const response = await shown.note(await visit(page, cookie, {}, relay.bindings));
    if (foreign.includes(page))
      expect([page, [403, 404].includes(response.status)]).toEqual([page, true]);
  }

  // Refusals: no place, a full queue, a bad time, and a member under its own name.
  expect(await refusal(await shown.note(await order(key, "now")))).toMatchObject({
    code: "connection_busy",
  });
  const late = { Prefer: "respond-async", "Relay-Start-By": "1" };
  expect((await shown.note(await order(key, "late", late))).status).toBe(400);
  for (const number of [1, 2, 3, 4]) {
    await shown.note(await order(key, `more-${number}`, { Prefer: "respond-async" }));
  }
  const full = await order(key, "full", { Prefer: "respond-async" });
  expect(await refusal(await shown.note(full))).toMatchObject({ code: "queue_full" });
  const message = { key, body: BODY, headers: { "Content-Type": "application/json" } };
  const named = await callWith(relay.bindings, `/v1/submit/${a}${ARK_PATH}`, message);
  expect(named.status).toBe(404);
  // It repeats the name that the client has guessed, and says no more of it.
  shown.texts.push((await named.text()).replaceAll(a, "…"));

  const text = shown.all;
  expect(text).toContain(first.id);
  const servers = [A, B].map((host) => new URL(host).host);
  const keys = relay.names.map(keyOf);
  const foreigners = [other, running.id];
  for (const hidden of [
    ...relay.names,
    ...servers,
    ...keys,
    ...foreigners,
    REFUSAL,
    'attempts":[{"connection',
  ]) {
    expect(text.split(hidden).length, hidden).toBe(1);
  }
});
