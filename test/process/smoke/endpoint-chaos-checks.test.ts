import { expect, it } from "vitest";
import type { EndpointState } from "../chaos/endpoints/endpoint-history.ts";
import { faultsIn } from "../chaos/endpoints/judge.ts";
import { taskPlan } from "../chaos/endpoints/plan.ts";
import { PLANTED_FAULTS } from "../chaos/endpoints/planted.ts";
import type { Evidence, Recording, SignedPost, TaskHistory } from "../chaos/endpoints/recording.ts";
import { Task } from "../harness/client.ts";

const START_S = 1_795_000_000;
const START = START_S * 1000;
const HOST = "127.0.0.1:9000";

const FIRST: EndpointState = {
  url: `http://${HOST}/1`,
  token: "endpoint-token-1",
  scheduleS: [0, 2],
  events: ["completed", "failed", "progress"],
  signer: { chain: "own", generation: 1 },
};
const SECOND: EndpointState = {
  ...FIRST,
  url: `http://${HOST}/2`,
  token: null,
  signer: { chain: "own", generation: 2 },
};

function spanAt(atS: number) {
  return { sentAt: START + atS * 1000, answeredAt: START + atS * 1000 + 10 };
}

/** Returns a post at the URL of a state of the endpoint, signed with its secret and the next one. */
function postAt(
  { url, token, signer }: EndpointState,
  atS: number,
  headers: Readonly<Record<string, string>>,
  answeredStatus: number,
): SignedPost {
  const arrivedAt = START + atS * 1000;
  const next = { ...signer, generation: signer.generation + 1 };
  return {
    method: "POST",
    path: new URL(url).pathname,
    headers: { host: HOST, ...(token !== null && { "x-endpoint-token": token }), ...headers },
    body: "{}",
    arrivedAt,
    answeredAt: arrivedAt,
    answeredStatus,
    bytesWritten: 0,
    closedAt: arrivedAt,
    signers: [signer, next],
  };
}

/** Returns the history of a task of an endpoint, registered in the second 2 and ended in the second 3. */
function historyOf(nth: number, fields: Partial<TaskHistory>): TaskHistory {
  const plan = { ...taskPlan(1, nth), owner: null, endpoint: "orders", credits: null };
  return {
    plan: { ...plan, end: "completed", orders: [] },
    registered: { ...spanAt(2), isRefused: false },
    ended: spanAt(3),
    orders: [],
    faults: [],
    ...fields,
  };
}

function attempt(number: number, series: number, atS: number, status_code: number) {
  const outcome = status_code === 200 ? "delivered" : "rejected";
  return { number, series, started_at: START_S + atS, duration_ms: 10, outcome, status_code };
}

/** Builds what is recorded of a task that is delivered at its second attempt, after its endpoint has changed. */
function evidenceOf(nth: number, again: EndpointState | null): Evidence {
  const ordered = { name: "orders", attempts: 1, isRefused: false, ...spanAt(9) };
  const history = historyOf(nth, { orders: again === null ? [] : [ordered] });
  const attempts = [attempt(1, 1, 3, 500), attempt(2, 1, 6, 200)];
  const posts = [
    postAt(FIRST, 2, { "x-event": "task.processing", "x-attempt": "1" }, 200),
    postAt(FIRST, 3, { "x-event": "task.completed", "x-attempt": "1" }, 500),
    postAt(FIRST, 6, { "x-event": "task.completed", "x-attempt": "2" }, 200),
  ];
  const callback = { url: FIRST.url, status: "delivered", delivered_at: START_S + 6 };
  const task = { id: history.plan.id, status: "completed" };
  const shown =
    again === null
      ? { ...task, callback: { ...callback, attempts } }
      : {
          ...task,
          callback: {
            ...callback,
            url: again.url,
            attempts: [
              ...attempts.map((each) => ({ ...each, url: FIRST.url })),
              attempt(3, 2, 9, 200),
            ],
          },
        };
  const redelivered =
    again === null
      ? []
      : [postAt(again, 9, { "x-event": "task.completed", "x-attempt": "3" }, 200)];
  return {
    history,
    text: JSON.stringify(shown),
    task: Task.parse(shown),
    posts: [...posts, ...redelivered],
    entries: [],
  };
}

/** A task that names an endpoint which does not exist. */
const REFUSED: Evidence = {
  history: { ...historyOf(3, { registered: { ...spanAt(2), isRefused: true }, ended: null }) },
  text: null,
  task: null,
  posts: [],
  entries: [],
};

const evidence = [
  evidenceOf(1, null),
  evidenceOf(2, SECOND),
  {
    ...REFUSED,
    history: { ...REFUSED.history, plan: { ...REFUSED.history.plan, endpoint: "never" } },
  },
];
const RECORDING: Recording = {
  evidence,
  changes: new Map([
    [
      "relay/orders",
      [
        { state: FIRST, ...spanAt(0) },
        { state: SECOND, ...spanAt(5) },
      ],
    ],
  ]),
  pauses: [{ host: HOST, orderedAt: START + 20_000, endedAt: START + 60_000 }],
  ledgers: [],
  genuine: new Set(evidence.flatMap(({ posts }) => posts)),
  strangePaths: [],
  log: '{"event":"task.settled"}',
};

it("the checks of the chaos of endpoints find no fault in a recording in which tasks keep their copy, and a redelivery goes to the endpoint as it is", () => {
  expect(faultsIn(RECORDING)).toEqual([]);
});

it.each(PLANTED_FAULTS)(
  "the checks of the chaos of endpoints notice $what, a fault that was planted into a faultless recording",
  ({ fault, plant }) => {
    const changed = plant(RECORDING);
    expect(changed === null ? null : faultsIn(changed)).toContainEqual(
      expect.stringContaining(fault),
    );
  },
);
