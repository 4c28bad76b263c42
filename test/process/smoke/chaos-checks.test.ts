import { expect, it } from "vitest";
import { Caller, Fault } from "../chaos/caller.ts";
import { faultsIn } from "../chaos/callbacks/judge.ts";
import { planOf, type TaskPlan } from "../chaos/callbacks/plan.ts";
import { PLANTED_FAULTS } from "../chaos/callbacks/planted.ts";
import { type Evidence, ReadTask, type Recording } from "../chaos/callbacks/recording.ts";
import { Client } from "../harness/client.ts";
import { LoopbackServer } from "../harness/loopback.ts";

const START_S = 1_795_000_000;
const SERIES = [
  { outcome: "delivered", statuses: [500, 200] },
  { outcome: "failed", statuses: [500, 500, 500] },
] as const;

/** Builds what is recorded of a task without an account that is delivered at the second attempt (0), or of a task whose price is refunded and whose callback fails (1). */
function evidenceOf(nth: 0 | 1): Evidence {
  const { outcome, statuses } = SERIES[nth];
  const isFailure = nth === 1;
  const result = isFailure ? "failed nsfw" : "completed https://cdn.example.com/a.mp4";
  const plan: TaskPlan = {
    ...planOf(1, nth),
    createdBy: "registration",
    accountId: isFailure ? "rich" : null,
    credits: isFailure ? 5 : null,
    grant: 0,
    ending: { via: "event", result, report: {} },
    rival: null,
    orders: [],
    target: "receiver",
  };
  const end = isFailure
    ? { status: "failed", model: "m", error: { code: "nsfw" } }
    : { status: "completed", model: "m", output: { urls: ["https://cdn.example.com/a.mp4"] } };
  const body = JSON.stringify({ id: plan.id, ...end });
  const attempts = statuses.map((status_code, i) => ({
    number: i + 1,
    series: 1,
    started_at: START_S + 3 * i,
    duration_ms: 10,
    outcome: status_code === 200 ? "delivered" : "rejected",
    status_code,
  }));
  const delivered = isFailure ? {} : { delivered_at: START_S + 3 };
  const callback = { url: "http://localhost/", status: outcome, attempts, ...delivered };
  const credits = isFailure ? { credits: { amount: 5, state: "refunded" } } : {};
  const text = `${body.slice(0, -1)},${JSON.stringify({ callback, ...credits }).slice(1)}`;
  const entry = { amount: 5, reference: "charge-1", task_id: plan.id, created_at: START_S };
  return {
    history: {
      plan,
      id: plan.id,
      state: "created",
      createdAt: START_S,
      endedAt: START_S,
      accepted: new Set([result]),
      refused: new Set(),
      shown: new Set([result]),
      orders: [],
      faults: [],
    },
    text,
    task: ReadTask.parse(JSON.parse(text)),
    posts: statuses.map((answeredStatus, i) => ({
      method: "POST",
      path: plan.path,
      headers: { "x-attempt": String(i + 1) },
      body,
      arrivedAt: 0,
      answeredAt: 0,
      answeredStatus,
      bytesWritten: 0,
      closedAt: 0,
    })),
    entries: isFailure
      ? [
          { ...entry, kind: "charge", balance: 9_999_995 },
          { ...entry, kind: "refund", balance: 10_000_000 },
        ]
      : [],
  };
}

const evidence = [evidenceOf(0), evidenceOf(1)];
const opening = {
  kind: "grant",
  reference: "opening",
  amount: 10_000_000,
  balance: 10_000_000,
  created_at: START_S,
};
const RECORDING: Recording = {
  evidence,
  ledgers: [
    {
      accountId: "rich",
      balance: 10_000_000,
      entries: [opening, ...evidence.flatMap(({ entries }) => entries)],
    },
  ],
  tooEarly: [],
  genuine: new Set(evidence.flatMap(({ posts }) => posts)),
  strangePaths: [],
  log: '{"event":"task.settled"}',
};

it("the checks at the end of npm run chaos find no fault in a recording in which every promise is kept", () => {
  expect(faultsIn(RECORDING)).toEqual([]);
});

it.each(PLANTED_FAULTS)(
  "the checks at the end of npm run chaos notice $what, a fault that was planted into a faultless recording",
  ({ fault, plant }) => {
    const changed = plant(RECORDING);
    expect(changed === null ? null : faultsIn(changed)).toContainEqual(
      expect.stringContaining(fault),
    );
  },
);

/** Sends a request as `npm run chaos` does to a server that gives these answers, one after another. */
async function askOnce(...answers: readonly (readonly [status: number, headers?: object])[]) {
  const left = [...answers];
  await using server = await new LoopbackServer((_, response) => {
    const [status = 404, headers = {}] = left.shift() ?? [];
    response.writeHead(status, { ...headers }).end("{}");
  }).listen();
  const caller = new Caller(new Client({ url: server.origin }));
  return await caller.ask({ method: "POST", path: "/v1/tasks", body: {} }, [201], [200]);
}

const LATER = [503, { "Retry-After": "2" }] as const;

it("npm run chaos sends a request again after 503 with Retry-After, and then also accepts the status with which the relay answers repeated requests", async () => {
  expect(await askOnce(LATER, [201])).toMatchObject({ status: 201, isRepeat: true });
  expect(await askOnce(LATER, [200])).toMatchObject({ status: 200, isRepeat: true });
});

it.each([
  ["503 without Retry-After", [[503]]],
  ["500", [[500]]],
  ["404, after 503 with Retry-After", [LATER, [404]]],
  ["200 to the first request, although only repeated requests are answered so", [[200]]],
] as const)(
  "npm run chaos reports a fault when the relay's responses to a request are: %s",
  async (_, answers) => {
    await expect(askOnce(...answers)).rejects.toThrow(Fault);
  },
);
