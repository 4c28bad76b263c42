import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import * as z from "zod";
import { seeded } from "../test/simulation/random.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { mean, quantile } from "./figures.ts";

// Measures whether the time of a refusal reveals how much of a guessed secret is right: `node bench/timing.ts`,
// about a minute. Sends wrong keys, tokens and signatures that share a longer and longer prefix with the right
// one, in random order over one connection, and prints Welch's t of each row against the first. The second row
// without a common prefix shows the effect of chance, the contrast that of a real difference. `BENCH_CALLS` sets
// the calls per row, `BENCH_SEED` the order.

const CALLS = Number(process.env["BENCH_CALLS"] ?? 3000);
const SEED = Number(process.env["BENCH_SEED"] ?? 1);
const WARM_UP = 500;
/** Share of the fastest answers that is kept, because the slowest are delays of the machine. */
const KEPT_SHARE = 0.9;
/** Usual threshold of Welch's t for a leak in side-channel tests. */
const SUSPICIOUS_T = 4.5;

/** A wrong guess, and the time that each refusal of it took, in microseconds. */
interface Guess {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly times: number[];
}

/** Function that builds the request for a guess. */
type RequestOf = (wrong: string) => Pick<Guess, "path" | "headers">;

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
console.log(
  `${CALLS} calls a row (seed ${SEED}), the fastest ${KEPT_SHARE * 100} % kept; microseconds`,
);
const keyRequest: RequestOf = (wrong) => ({
  path: "/v1/tasks",
  headers: { Authorization: `Bearer ${wrong}` },
});
await compare("operator key", operatorKey, keyRequest);
await compare("account key", await createAccountKey(), keyRequest);
const hook = await registerHook();
await compare("hook token", hook.right, hook.requestOf);
const event = await signEvent();
await compare("event signature", event.right, event.requestOf);
agent.destroy();

async function compare(secret: string, right: string, requestOf: RequestOf): Promise<void> {
  const withPrefix = (name: string, chars: number): Guess => {
    const rest = right.slice(chars).replaceAll(/./g, (char) => (/a/i.test(char) ? "b" : "a"));
    return { name, ...requestOf(right.slice(0, chars) + rest), times: [] };
  };
  const first = withPrefix("nothing right", 0);
  const guesses = [
    first,
    withPrefix("nothing right, again", 0),
    withPrefix("the first half right", Math.floor(right.length / 2)),
    // The last character of base64 carries fewer than six bits, so other values of this character can be
    // right too.
    withPrefix("all right but the last two", right.length - 2),
    { name: "contrast: refused by its form", ...requestOf("~"), times: [] },
  ];
  for (let call = 0; call < WARM_UP; call++) await timeRefusal(first, 0);
  first.times.length = 0;
  const order = guesses.flatMap((guess) => Array.from({ length: CALLS }, () => guess));
  shuffle(order);
  for (const [call, guess] of order.entries()) await timeRefusal(guess, call);
  for (const guess of guesses) print(secret, guess, first);
}

/** Sends one guess and records the time of its refusal. @throws when the guess is not refused. */
async function timeRefusal(guess: Guess, call: number): Promise<void> {
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
  const [own, baseline] = [fastest(guess.times), fastest(first.times)];
  const median = quantile(own, 0.5);
  const t = guess === first ? 0 : welch(own, baseline);
  const figures = `median ${median.toFixed(1).padStart(7)}  mean ${mean(own).toFixed(1).padStart(7)}`;
  const mark = Math.abs(t) > SUSPICIOUS_T ? "  differs" : "";
  console.log(
    `${secret.padEnd(16)} ${guess.name.padEnd(30)} ${figures}  t ${t.toFixed(1).padStart(6)}${mark}`,
  );
}

function fastest(times: readonly number[]): readonly number[] {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted.slice(0, Math.ceil(KEPT_SHARE * sorted.length));
}

/** Computes Welch's t statistic of two samples whose variances may differ. */
function welch(a: readonly number[], b: readonly number[]): number {
  return (mean(a) - mean(b)) / Math.sqrt(variance(a) / a.length + variance(b) / b.length);
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Shuffles the guesses in place (Fisher and Yates). */
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

async function createAccountKey(): Promise<string> {
  const id = randomUUID();
  await asOperator("POST", "/v1/accounts", { id });
  const made = await asOperator("POST", `/v1/accounts/${id}/keys`, {});
  return z.object({ key: z.string() }).parse(made).key;
}

async function registerHook(): Promise<{ right: string; requestOf: RequestOf }> {
  const body = { id: randomUUID(), model: "m", provider: "plain" };
  const Hooked = z.object({ hook_url: z.string() });
  const { hook_url } = Hooked.parse(await asOperator("POST", "/v1/tasks", body));
  const parts = new URL(hook_url).pathname.split("/");
  const right = parts.pop() ?? "";
  return { right, requestOf: (wrong) => ({ path: [...parts, wrong].join("/"), headers: {} }) };
}

/** Signs an event with an empty body; the signature is valid for the next five minutes. */
async function signEvent(): Promise<{ right: string; requestOf: RequestOf }> {
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
  const requestOf = (wrong: string) => ({ path: "/v1/events", headers: signed(wrong) });
  return { right: signature.slice(0, 43), requestOf };
}
