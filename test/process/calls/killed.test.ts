import { randomBytes } from "node:crypto";
import { request, type ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { Caller } from "../chaos/caller.ts";
import { countOf, ledgerFaults, openAccount, readLedger } from "../chaos/ledger.ts";
import { inBucket } from "../harness/bucket.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { hastenCalls, storedCalls } from "../harness/stored-calls.ts";
import { objectFiles, storedRecord } from "../harness/stored-record.ts";
import { Workerd } from "../harness/workerd.ts";
import { formOf } from "./form.ts";
import { Gateway } from "./gateway.ts";

const MIB = 1024 * 1024;
const EDITS = "/v1/images/edits";
const MODEL = "gpt-image-1";
const [PRICE, GRANT] = [7, 100];
const ACCOUNT = "buyer";
const VARS = {
  ...LOCAL_VARS,
  PUBLIC_URL: "https://relay.example.com",
  OFFERS: JSON.stringify([
    { connection: "newapi", path: EDITS, models: [MODEL], price: { credits: PRICE } },
  ]),
};
/** Longest time in milliseconds until a call that nobody has begun has ended: its object asks its task after 30 s. */
const ENDED_WITHIN_MS = 120_000;
const REPEAT_AFTER_MS = 250;
const PNG = Buffer.concat([
  Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"),
  randomBytes(3 * MIB),
]);
/** An image that is stored in parts of 8 MiB. */
const LARGE_PNG = Buffer.concat([PNG, randomBytes(9 * MIB)]);

/** A moment at which the relay is killed, and what must follow. */
interface Kill {
  readonly when: string;
  /** Step at which the relay stops until it is killed (entries/held-calls.ts). Null when it need not stop. */
  readonly heldAt: string | null;
  /** True when only the first half of the form is sent before. */
  readonly isCutShort?: boolean;
  /** Bytes of the answer after which the gateway stops. Absent when it sends the whole answer. */
  readonly answerStopsAt?: number;
  /** Tells whether the moment has come. */
  readonly isNow: (relay: Workerd, gateway: Gateway) => boolean;
  /** Number of calls that the gateway gets in the end. */
  readonly calls: 0 | 1;
}

const isIn =
  (kind: string) =>
  ({ storage }: Workerd) =>
    storedCalls(storage).some((call) => call.kind === kind);
const hasTask =
  (status: string) =>
  ({ storage }: Workerd) =>
    objectFiles(join(storage, "tasks")).some(
      (file) => z.object({ status: z.literal(status) }).safeParse(storedRecord(file)).success,
    );
const keysOf = (relay: Workerd) => inBucket(relay).keys.map((key) => key.split("/").at(-1));

const KILLS: readonly Kill[] = [
  {
    when: "while its form arrives",
    heldAt: null,
    isCutShort: true,
    isNow: ({ storage }) => storedCalls(storage).some(({ chunks }) => chunks > 0),
    calls: 1,
  },
  {
    when: "after it is stored and before its task is registered",
    heldAt: "register",
    isNow: isIn("queued"),
    calls: 1,
  },
  {
    when: "after its task is registered and before the 202",
    heldAt: "registered",
    isNow: hasTask("pending"),
    calls: 1,
  },
  {
    when: "after the 202 and before it begins",
    heldAt: "begin",
    isNow: hasTask("pending"),
    calls: 1,
  },
  {
    when: "after it is marked as sent and before it is sent",
    heldAt: "send",
    isNow: isIn("sending"),
    calls: 0,
  },
  {
    when: "while the upstream works on it",
    heldAt: null,
    answerStopsAt: 0,
    isNow: (_, gateway) => gateway.calls.length > 0,
    calls: 1,
  },
  {
    when: "while the answer arrives",
    heldAt: null,
    answerStopsAt: 16 * MIB,
    isNow: (relay) => keysOf(relay).length > 0 && inBucket(relay).parts > 0,
    calls: 1,
  },
  {
    when: "after its files are stored and before they are reported",
    heldAt: "report",
    isNow: isIn("ended"),
    calls: 1,
  },
  {
    when: "after its end is reported and before the task has confirmed it",
    heldAt: "reported",
    isNow: hasTask("completed"),
    calls: 1,
  },
];

/** True when the call must have been lost: then its outcome is unknown, whether or not the gateway has got it. */
const isLost = ({ heldAt, answerStopsAt }: Kill) =>
  heldAt === "send" || answerStopsAt !== undefined;

/** Answers a call with two images in base64, and stops after so many bytes of the answer. */
function answerWithImages(response: ServerResponse, stopsAt = Infinity): void {
  if (stopsAt === 0) return;
  const data = [PNG, LARGE_PNG].map((image) => ({ b64_json: image.toString("base64") }));
  const body = JSON.stringify({ created: 1_790_000_000, data });
  response.writeHead(200, { "Content-Type": "application/json" });
  if (stopsAt < body.length) response.write(body.slice(0, stopsAt));
  else response.end(body);
}

/** A relay with an account, a gateway and a receiver. */
async function sceneOf({ heldAt, answerStopsAt }: Kill) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(
    await Gateway.start((_, response) => answerWithImages(response, answerStopsAt)),
  );
  const receiver = stack.use(await Receiver.start());
  const vars = { ...VARS, ...gateway.vars };
  const entry = "held-calls.ts";
  const relay = stack.use(await Workerd.start({ vars, entry, hasOutputs: true }));
  await openAccount(new Caller(relay.client), ACCOUNT, GRANT);
  const { json } = await relay.client.ask("POST", `/v1/accounts/${ACCOUNT}/keys`, {});
  const { key } = z.object({ key: z.string() }).parse(json);
  await relay.restart(heldAt === null ? vars : { ...vars, HELD_AT: heldAt });
  const form = formOf({ model: MODEL, prompt: "a fox" }, 3 * MIB);
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 200 });
  const headers = {
    Authorization: `Bearer ${key}`,
    "Content-Type": form.type,
    "Idempotency-Key": "order-1",
    Prefer: "respond-async",
    "Relay-Callback-Url": callbackUrl,
  };
  const url = `${relay.url}/v1/submit/newapi${EDITS}`;
  return { stack, gateway, receiver, relay, vars, call: { url, headers, body: form.body } };
}

type Scene = Awaited<ReturnType<typeof sceneOf>>;

/** Submits the call, or the first half of its form, to a relay that is killed meanwhile. */
function begin({ call: { url, headers, body } }: Scene, isCutShort = false): void {
  const length = { "Content-Length": String(body.length) };
  const sent = request(url, { method: "POST", headers: { ...headers, ...length } });
  sent.on("error", () => {});
  sent.on("response", (response) => response.resume());
  if (isCutShort) sent.write(body.subarray(0, body.length / 2));
  else sent.end(body);
}

/** Repeats the call with its key until it is answered by 202. Returns the id of its task. */
async function submitAgain({ call: { url, headers, body } }: Scene): Promise<string> {
  for (const giveUpAt = Date.now() + ENDED_WITHIN_MS; ; await sleep(REPEAT_AFTER_MS)) {
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (response.status === 202) return z.object({ id: z.string() }).parse(JSON.parse(text)).id;
    if (response.status !== 503 || Date.now() > giveUpAt) throw new Error(text);
  }
}

const Ended = z.looseObject({
  status: z.string(),
  error: z.object({ code: z.string() }).optional(),
});

it.concurrent.each(KILLS)(
  "a call whose relay is killed with kill -9 $when reaches the upstream at most once, is paid for only if it has a result, and leaves nothing else behind",
  async (kill) => {
    const scene = await sceneOf(kill);
    await using _ = scene.stack;
    const { gateway, receiver, relay } = scene;
    begin(scene, kill.isCutShort);
    await vi.waitUntil(() => kill.isNow(relay, gateway), {
      timeout: ENDED_WITHIN_MS,
      interval: 20,
    });
    await relay.kill9();
    // A form that has not arrived is erased after ten minutes.
    if (kill.isCutShort === true) hastenCalls(relay.storage);
    await relay.restart(scene.vars);
    const id = await submitAgain(scene);
    const wait = { timeout: ENDED_WITHIN_MS, interval: 200 };
    await vi.waitUntil(() => receiver.posts.some((post) => post.answeredStatus === 200), wait);
    await vi.waitUntil(() => storedCalls(relay.storage).length === 0, wait);

    const task = Ended.parse((await relay.client.ask("GET", `/v1/tasks/${id}`)).json);
    const ledger = await readLedger(relay.client, ACCOUNT);
    const isOwn = ({ kind, task_id }: { kind: string; task_id?: string | undefined }) =>
      kind === "grant" || task_id === id;
    const lost = { status: "failed", error: { code: "submit_unknown" } };
    expect(task).toMatchObject(isLost(kill) ? lost : { status: "completed" });
    expect(gateway.calls.length).toBe(kill.calls);
    expect(new Set(receiver.posts.map(({ body }) => body)).size).toBe(1);
    expect(ledgerFaults(ledger, isOwn)).toEqual([]);
    expect(ledger.balance).toBe(isLost(kill) ? GRANT : GRANT - PRICE);
    expect(countOf(ledger.entries, "charge")).toBe(1);
    expect(inBucket(relay).parts).toBe(0);
    const kept = isLost(kill) ? [] : ["0", "1", "2"].map((nth) => [id, nth]);
    expect(inBucket(relay).keys.map((key) => [key.split("/")[1], key.split("/")[3]])).toEqual(kept);
  },
);
