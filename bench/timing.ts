import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import * as z from "zod";
import { seeded } from "../test/process/harness/seeded.ts";
import { Workerd } from "../test/process/harness/workerd.ts";

// Whether the time of a refusal tells how much of a guess is right: `node bench/timing.ts`, about a minute.
// Wrong keys, tokens and signatures that begin more and more like the right one, in random order over one
// connection, and Welch's t of each row against the first. The second row of nothing shows what chance does, the
// contrast what a real difference looks like. `BENCH_CALLS` per row, `BENCH_SEED` for another order.

const CALLS = Number(process.env["BENCH_CALLS"] ?? 3000);
const SEED = Number(process.env["BENCH_SEED"] ?? 1);
const WARM_UP = 500;
/** The slowest answers are the machine's, not the comparison's. */
const KEPT = 0.9;
/** The customary bound for a leak in tests of side channels. */
const SUSPICIOUS_T = 4.5;

/** A wrong guess, and how long each refusal of it took, in microseconds. */
interface Guess {
  readonly what: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly times: number[];
}

/** Where a guess is sent. */
type Door = (wrong: string) => Pick<Guess, "path" | "headers">;

const operatorKey = randomBytes(32).toString("hex");
const random = seeded(SEED);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

await using relay = await Workerd.start({
  vars: {
    RELAY_SECRET: randomBytes(32).toString("hex"),
    OPERATOR_KEYS: operatorKey,
    CONNECTIONS: '{"plain": {"provider": "replicate"}}',
  },
});
console.log(`${CALLS} calls a row (seed ${SEED}), the fastest ${KEPT * 100} % kept; microseconds`);
const keyDoor: Door = (wrong) => ({
  path: "/v1/tasks",
  headers: { Authorization: `Bearer ${wrong}` },
});
await compare("operator key", operatorKey, keyDoor);
await compare("account key", await accountKey(), keyDoor);
const hook = await registered();
await compare("hook token", hook.right, hook.door);
const event = await signedEvent();
await compare("event signature", event.right, event.door);
agent.destroy();

async function compare(secret: string, right: string, door: Door): Promise<void> {
  const beginning = (what: string, chars: number): Guess => {
    const rest = right.slice(chars).replaceAll(/./g, (char) => (/a/i.test(char) ? "b" : "a"));
    return { what, ...door(right.slice(0, chars) + rest), times: [] };
  };
  const first = beginning("nothing right", 0);
  const guesses = [
    first,
    beginning("nothing right, again", 0),
    beginning("the first half right", Math.floor(right.length / 2)),
    // The last character of base64 does not say six whole bits.
    beginning("all right but the last two", right.length - 2),
    { what: "contrast: refused by its form", ...door("~"), times: [] },
  ];
  for (let call = 0; call < WARM_UP; call++) await refused(first, 0);
  first.times.length = 0;
  const order = guesses.flatMap((guess) => Array.from({ length: CALLS }, () => guess));
  shuffle(order);
  for (const [call, guess] of order.entries()) await refused(guess, call);
  for (const guess of guesses) print(secret, guess, first);
}

/** One refusal, timed. @throws when it is none. */
async function refused(guess: Guess, call: number): Promise<void> {
  const { path, headers, times } = guess;
  const startedAt = process.hrtime.bigint();
  const status = await new Promise<number>((resolve, reject) => {
    const method = path.startsWith("/v1/tasks") ? "GET" : "POST";
    const sent = request(`${relay.url}${path}`, { agent, method, headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject).end();
  });
  times.push(Number(process.hrtime.bigint() - startedAt) / 1000);
  if (status !== 401 && status !== 404) throw new Error(`call ${call} was answered with ${status}`);
}

function print(secret: string, guess: Guess, first: Guess): void {
  const [own, nothing] = [kept(guess.times), kept(first.times)];
  const median = own[Math.floor(own.length / 2)] ?? 0;
  const t = guess === first ? 0 : welch(own, nothing);
  const figures = `median ${median.toFixed(1).padStart(7)}  mean ${mean(own).toFixed(1).padStart(7)}`;
  const mark = Math.abs(t) > SUSPICIOUS_T ? "  differs" : "";
  console.log(
    `${secret.padEnd(16)} ${guess.what.padEnd(30)} ${figures}  t ${t.toFixed(1).padStart(6)}${mark}`,
  );
}

function kept(times: readonly number[]): readonly number[] {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted.slice(0, Math.ceil(KEPT * sorted.length));
}

/** Welch's t statistic of two samples whose variances may differ. */
function welch(a: readonly number[], b: readonly number[]): number {
  return (mean(a) - mean(b)) / Math.sqrt(variance(a) / a.length + variance(b) / b.length);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Fisher and Yates. */
function shuffle(items: Guess[]): void {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [items[last], items[other]];
    if (a === undefined || b === undefined) return;
    [items[last], items[other]] = [b, a];
  }
}

async function asOperator(method: string, path: string, body?: object): Promise<unknown> {
  const headers = { Authorization: `Bearer ${operatorKey}` };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${relay.url}${path}`, { method, headers, ...sent });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

async function accountKey(): Promise<string> {
  const id = randomUUID();
  await asOperator("POST", "/v1/accounts", { id });
  const made = await asOperator("POST", `/v1/accounts/${id}/keys`, {});
  return z.object({ key: z.string() }).parse(made).key;
}

async function registered(): Promise<{ right: string; door: Door }> {
  const body = { id: randomUUID(), model: "m", provider: "plain" };
  const Hooked = z.object({ hook_url: z.string() });
  const { hook_url } = Hooked.parse(await asOperator("POST", "/v1/tasks", body));
  const parts = new URL(hook_url).pathname.split("/");
  const right = parts.pop() ?? "";
  return { right, door: (wrong) => ({ path: [...parts, wrong].join("/"), headers: {} }) };
}

/** An event with an empty body, signed for the next five minutes. */
async function signedEvent(): Promise<{ right: string; door: Door }> {
  const Secrets = z.object({ events: z.tuple([z.string()]) });
  const { events } = Secrets.parse(await asOperator("GET", "/v1/signing-secrets"));
  const key = Buffer.from(events[0].slice("whsec_".length), "base64");
  const [id, timestamp] = ["msg_1", String(Math.floor(Date.now() / 1000))];
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).digest("base64");
  const signed = (wrong: string) => ({
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${wrong}=`,
  });
  const door = (wrong: string) => ({ path: "/v1/events", headers: signed(wrong) });
  return { right: signature.slice(0, 43), door };
}
