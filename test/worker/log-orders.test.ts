import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { call, callWith, type Message } from "./client.ts";
import { useClock } from "./clock.ts";
import { restart, untilIdle } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { completed, redeliver, register } from "./tasks.ts";

useClock();

const KEY = "tok_5d41402abc4b2a76b971";
const NORMAL = { ...env, LOG: "normal", OPERATOR_KEYS: `all:alice=${KEY}` };

/** The task, account or key that an order of the operator concerns. */
interface Subject {
  readonly account: string;
  readonly keyId: string;
  readonly open: string;
  readonly settled: string;
}

type Order = (subject: Subject) => readonly [path: string, message: Message, line: object];

const count = { woken: 1, unknown: 0, failed: 0 };
const grant = { reference: "g", amount: 5 };
const adjustment = { reference: "a", amount: -5, reason: "private" };

/** Orders of the operator by the event of their log line: the request, and the fields of the line. */
const ORDERS: Readonly<Record<string, Order>> = {
  "task.cancel": ({ open }) => [`/v1/tasks/${open}/cancel`, { body: {} }, { task_id: open }],
  "task.redeliver": ({ settled }) => [
    `/v1/tasks/${settled}/redeliver`,
    { body: {} },
    { task_id: settled },
  ],
  "task.erase": ({ settled }) => [
    `/v1/tasks/${settled}`,
    { method: "DELETE" },
    { task_id: settled, outcome: "erased" },
  ],
  "tasks.wake": ({ open }) => ["/v1/wake", { body: { ids: [open] } }, count],
  "credits.grant": ({ account }) => [
    `/v1/accounts/${account}/grants`,
    { body: grant },
    { account, amount: 5, outcome: "booked" },
  ],
  "credits.adjustment": ({ account }) => [
    `/v1/accounts/${account}/adjustments`,
    { body: adjustment },
    { account, amount: -5, outcome: "booked" },
  ],
  "account.create": () => ["/v1/accounts", { body: { id: "new-one" } }, { account: "new-one" }],
  "account.delete": ({ account }) => [
    `/v1/accounts/${account}?force=true`,
    { method: "DELETE" },
    { account },
  ],
  "key.create": ({ account }) => [
    `/v1/accounts/${account}/keys`,
    { body: { label: "private" } },
    { account, key_id: expect.stringMatching(/^[\da-f-]{36}$/) },
  ],
  "key.revoke": ({ account, keyId }) => [
    `/v1/accounts/${account}/keys/${keyId}`,
    { method: "DELETE" },
    { account, key_id: keyId },
  ],
  "secret.rotate": ({ account }) => [
    `/v1/accounts/${account}/signing-secrets`,
    { body: {} },
    { account, generation: 2 },
  ],
  "callback.test": () => [
    "/v1/callbacks/test",
    { body: { callback_url: "https://client.example.net/hook" } },
    { outcome: "delivered" },
  ],
};

it.each(Object.entries(ORDERS))(
  "the log of a relay without LOG=all has one line with the event %s when the operator orders it, with the label of the operator key",
  async (event, order) => {
    aReceiver();
    const account = await anAccount();
    const { id: keyId } = await aKey(account);
    const [open, settled] = [await register(), await completed()];
    await untilIdle(settled);
    for (const id of [open, settled]) await restart(id, NORMAL);
    const [path, message, line] = order({ account, keyId, open, settled });
    const logged: string[] = [];
    const write = (text: string) => void logged.push(text);
    for (const level of ["log", "warn", "error"] as const) {
      vi.spyOn(console, level).mockImplementation(write);
    }
    const response = await callWith(NORMAL, path, { ...message, key: KEY });
    vi.restoreAllMocks();
    expect(response.ok).toBe(true);
    const lines = logged.filter((text) => text.includes(`"event":"${event}"`));
    expect(lines.map((text) => JSON.parse(text))).toMatchObject([{ event, by: "alice", ...line }]);
    expect(lines.join()).not.toMatch(/private|tok_/);
  },
);

it("a redelivery ordered with an account's API key is logged with the key's name, which GET of the task shows only to the operator", async () => {
  aReceiver();
  const account = await anAccount();
  const { key, name } = await aKey(account);
  const id = await completed({ account });
  const written = vi.spyOn(console, "log");
  expect((await redeliver(id, {}, { key })).status).toBe(202);
  await untilIdle(id);
  const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  const line = { event: "task.redeliver", task_id: id, by: name };
  expect(lines.filter(({ event }) => event === line.event)).toMatchObject([line]);
  const shown = async (message: Message) =>
    (await (await call(`/v1/tasks/${id}`, message)).text()).match(/"ordered_by":"\w+"/g);
  expect(await shown({})).toEqual([`"ordered_by":"${name}"`]);
  expect(await shown({ key })).toBeNull();
});
