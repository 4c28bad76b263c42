import { randomUUID } from "node:crypto";
import type { Receivers } from "./receivers.ts";
import type { RelayClient } from "./relay-client.ts";

interface Order {
  readonly model: string;
  readonly callback_url?: string;
  readonly callback_schedule_s?: readonly number[];
  readonly account?: string;
  readonly credits?: number;
  readonly provider?: string;
}

/** Account of the demo. */
export const ACCOUNT = "acme";
const VIDEO = "https://cdn.example.com/demo.mp4";
export const COMPLETED = { status: "completed", output: { urls: [VIDEO] } };
const ERROR = { code: "OutputVideoSensitiveContentDetected", message: "The output was refused." };
export const FAILED = { status: "failed", error: ERROR };
/** Number of tasks whose receiver is down. */
export const DOWN_COUNT = 8;

/** Creates the account of the demo, with credits. @returns its API key. */
export async function createAccount(relay: RelayClient): Promise<string> {
  await relay.post("/v1/accounts", { id: ACCOUNT });
  await relay.post(`/v1/accounts/${ACCOUNT}/grants`, { reference: "invoice-1", amount: 1000 });
  const label = { label: "demo" };
  const { key } = await relay.post<{ key: string }>(`/v1/accounts/${ACCOUNT}/keys`, label);
  return key;
}

/**
 * Creates tasks in every state that a task and its callback can have, except those that only a restart of the
 * relay brings about (restarted.ts), and waits until they have reached it. The account must exist.
 * @returns the ids of the tasks.
 */
export async function seed(relay: RelayClient, receivers: Receivers): Promise<readonly string[]> {
  const parts = [open, delivered, undelivered, simulated];
  return (await Promise.all(parts.map((part) => part(relay, receivers)))).flat();
}

/** Creates tasks without a result: one that waits, one that runs, one that is cancelled. */
async function open(relay: RelayClient, { healthy }: Receivers): Promise<readonly string[]> {
  const order = { model: "seedance-1-pro", callback_url: healthy.url };
  const waiting = await register(relay, order);
  const running = await finish(relay, order, { status: "processing" });
  const canceled = await register(relay, ofAccount(order));
  await relay.post(`/v1/tasks/${canceled}/cancel`, {});
  return [waiting, running, canceled];
}

/** Creates tasks with a result and without a callback, or with one that is delivered, one of them twice. */
async function delivered(
  relay: RelayClient,
  { healthy, flaky }: Receivers,
): Promise<readonly string[]> {
  const again = await finish(relay, { model: "wan-2.5", callback_url: healthy.url }, COMPLETED);
  await relay.until(again, /"status":"delivered"/);
  await relay.post(`/v1/tasks/${again}/redeliver`, {});
  return [
    again,
    await finish(relay, { model: "seedance-1-pro" }, COMPLETED),
    await finish(relay, ofAccount({ model: "wan-2.5", callback_url: healthy.url }), COMPLETED),
    await finish(relay, ofAccount({ model: "wan-2.5", callback_url: flaky.url }), FAILED),
  ];
}

/** Creates tasks with a result whose attempts fail, for each reason that a receiver can have. */
async function undelivered(relay: RelayClient, receivers: Receivers): Promise<readonly string[]> {
  const { down, refusing, moved, hanging } = receivers;
  const order = ofAccount({ model: "veo-3", callback_url: down.url });
  const lost = await Promise.all(
    Array.from({ length: DOWN_COUNT }, () => finish(relay, order, COMPLETED)),
  );
  for (const { url } of [refusing, moved]) {
    lost.push(await finish(relay, { model: "veo-3", callback_url: url }, COMPLETED));
  }
  // With waits of its own, so that its second attempt is still to come when the states are shown.
  const patient = { model: "veo-3", callback_url: hanging.url, callback_schedule_s: [0, 600, 600] };
  const late = await finish(relay, patient, COMPLETED);
  await relay.until(late, /"outcome":"timeout"/);
  for (const id of lost) await relay.until(id, /"status":"failed"/);
  return [...lost, late];
}

/** Creates tasks of the simulated provider: running, found by a poll, refused, and without a result in time. */
async function simulated(relay: RelayClient, { healthy }: Receivers): Promise<readonly string[]> {
  const order = { provider: "sandbox", callback_url: healthy.url };
  const models = ["sandbox/slow", "sandbox/lost-hook", "sandbox/moderated", "sandbox/late"];
  return Promise.all(models.map((model) => register(relay, { ...order, model })));
}

/** Registers a task and reports its state. @returns its id. */
export async function finish(relay: RelayClient, order: Order, state: object): Promise<string> {
  const id = await register(relay, order);
  await report(relay, id, state);
  return id;
}

/** Reports the state of a registered task. */
export async function report(relay: RelayClient, id: string, state: object): Promise<void> {
  await relay.post("/v1/events", { id, ...state });
}

/** Registers a task. @returns its id. */
export async function register(relay: RelayClient, order: Order): Promise<string> {
  const id = randomUUID();
  await relay.post("/v1/tasks", { id, ...order });
  return id;
}

/** Returns an order that is charged to the account of the demo. */
export function ofAccount(order: Order): Order {
  return { ...order, account: ACCOUNT, credits: 60 };
}
