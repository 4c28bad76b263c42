import { randomUUID } from "node:crypto";
import type { Behaviour, DemoReceiver } from "./receivers.ts";
import type { RelayClient } from "./relay-client.ts";

/** Receivers of the demo, by their behaviour. */
export type Receivers = Readonly<Record<Behaviour, DemoReceiver>>;

interface Order {
  readonly model: string;
  readonly callback_url?: string;
  readonly account?: string;
  readonly credits?: number;
  readonly provider?: string;
}

/** Account of the demo. */
export const ACCOUNT = "acme";
const VIDEO = "https://cdn.example.com/demo.mp4";
const COMPLETED = { status: "completed", output: { urls: [VIDEO] } };
const ERROR = { code: "OutputVideoSensitiveContentDetected", message: "The output was refused." };
const FAILED = { status: "failed", error: ERROR };
const DOWN_COUNT = 8;

/**
 * Creates tasks in every state that a task and its callback can have, and an account with credits and a key.
 * @returns the key of the account.
 */
export async function seed(relay: RelayClient, receivers: Receivers): Promise<string> {
  await relay.post("/v1/accounts", { id: ACCOUNT });
  await relay.post(`/v1/accounts/${ACCOUNT}/grants`, { reference: "invoice-1", amount: 1000 });
  const label = { label: "demo" };
  const { key } = await relay.post<{ key: string }>(`/v1/accounts/${ACCOUNT}/keys`, label);
  await Promise.all([open(relay, receivers), ended(relay, receivers), simulated(relay, receivers)]);
  return key;
}

/** Creates tasks without a result: one that waits, one that is cancelled. */
async function open(relay: RelayClient, { healthy }: Receivers): Promise<void> {
  const order = { model: "seedance-1-pro", callback_url: healthy.url };
  await register(relay, order);
  const id = await register(relay, ofAccount(order));
  await relay.post(`/v1/tasks/${id}/cancel`, {});
}

/** Creates tasks with a result, whose callbacks are delivered, retried or fail. */
async function ended(relay: RelayClient, receivers: Receivers): Promise<void> {
  const { healthy, flaky, down, refusing, hanging } = receivers;
  await finish(relay, { model: "seedance-1-pro" }, COMPLETED);
  await finish(relay, ofAccount({ model: "wan-2.5", callback_url: healthy.url }), COMPLETED);
  await finish(relay, ofAccount({ model: "wan-2.5", callback_url: flaky.url }), FAILED);
  const again = await finish(relay, { model: "wan-2.5", callback_url: healthy.url }, COMPLETED);
  const order = ofAccount({ model: "veo-3", callback_url: down.url });
  const lost = await Promise.all(
    Array.from({ length: DOWN_COUNT }, () => finish(relay, order, COMPLETED)),
  );
  await finish(relay, { model: "veo-3", callback_url: refusing.url }, COMPLETED);
  await finish(relay, { model: "veo-3", callback_url: hanging.url }, COMPLETED);
  await relay.until(again, /"status":"delivered"/);
  await relay.post(`/v1/tasks/${again}/redeliver`, {});
  for (const id of lost) await relay.until(id, /"status":"failed"/);
}

/** Creates tasks of the simulated provider: running, found by a poll, refused, and without a result in time. */
async function simulated(relay: RelayClient, { healthy }: Receivers): Promise<void> {
  for (const model of ["sandbox/slow", "sandbox/lost-hook", "sandbox/moderated", "sandbox/late"]) {
    await register(relay, { model, provider: "sandbox", callback_url: healthy.url });
  }
}

/** Registers a task and reports its result. @returns its id. */
export async function finish(relay: RelayClient, order: Order, result: object): Promise<string> {
  const id = await register(relay, order);
  await relay.post("/v1/events", { id, ...result });
  return id;
}

async function register(relay: RelayClient, order: Order): Promise<string> {
  const id = randomUUID();
  await relay.post("/v1/tasks", { id, ...order });
  return id;
}

function ofAccount(order: Order): Order {
  return { ...order, account: ACCOUNT, credits: 60 };
}
