import { expect, it } from "vitest";
import type { Facts } from "../../src/api/search/troubles/trouble.ts";
import { troublesOf } from "../../src/api/search/troubles/troubles.ts";
import { MAX_INDEX_BYTES } from "../../src/index-db/limits.ts";
import {
  aCount,
  aFailure,
  aRepeat,
  HOST,
  HOUR,
  indexOf,
  MINUTE,
  NOW,
  secondsAgo,
  THIS_HOUR,
  THREE,
} from "./trouble-builders.ts";

const ARK = {
  name: "ark",
  isPoolMember: false,
  keyRefusedAt: null,
  fundsRefusedAt: null,
  areHooksMissing: false,
  unclearAt: null,
  waiting: 0,
  waitingSince: null,
};
const QUIET: Facts = {
  now: NOW,
  isPaused: false,
  maxIndexBytes: MAX_INDEX_BYTES.paid,
  pausedHosts: [],
  warnings: [],
  connections: [ARK],
  index: indexOf({}),
};

it("a relay without faults has no entries in its list of problems", () => {
  const counts = [aCount(0, "delivered", 50), aCount(0, "failed", 2)];
  expect(troublesOf({ ...QUIET, index: indexOf({ counts, failed: THREE.slice(1) }) })).toEqual([]);
  expect(troublesOf({ ...QUIET, index: null })).toEqual([]);
});

it("a host with three failed callbacks is a problem, listed with its tasks, its first failure and API requests to examine and repair it", () => {
  const index = indexOf({ failed: THREE, next: [aRepeat(2), aRepeat(1, { host: "other" })] });
  expect(troublesOf({ ...QUIET, index })).toEqual([
    {
      kind: "host_failing",
      severity: "error",
      detail: "client.example.net does not take callbacks: 503.",
      since: secondsAgo(30),
      tasks: { count: 4, is_capped: false },
      subject: { host: HOST, outcome: "rejected", status_code: 503, failed: 3, sending: 1 },
      actions: [
        { name: "inspect", method: "GET", path: `/v1/hosts/${HOST}` },
        { name: "list", method: "GET", path: `/v1/tasks?callback=failed&host=${HOST}` },
        { name: "test", method: "POST", path: "/v1/callbacks/test" },
        {
          name: "redeliver",
          method: "POST",
          path: `/v1/redeliveries?callback=failed&host=${HOST}`,
        },
      ],
    },
  ]);
});

const REFUND = { status: "failed", callback: "sending", attempts: 0, lastOutcome: null } as const;
const PENDING = { status: "pending", callback: "waiting", lastOutcome: null } as const;

const FOUND: readonly (readonly [
  string,
  Partial<Facts>,
  readonly { kind: string; [member: string]: unknown }[],
])[] = [
  ["only two failed callbacks to a host", { index: indexOf({ failed: THREE.slice(1) }) }, []],
  [
    "three failed callbacks to a host more than an hour ago",
    { index: indexOf({ failed: [61, 62, 63].map((age) => aFailure(age)) }) },
    [],
  ],
  [
    "three failed callbacks to a host that accepted four others",
    { index: indexOf({ failed: THREE, counts: [aCount(1, "delivered", 4)] }) },
    [],
  ],
  [
    "callbacks to a host failing for three hours, too many for all their index rows to be read",
    {
      index: indexOf({
        failed: THREE,
        isCapped: true,
        counts: [aCount(4, "delivered", 9), aCount(3, "failed", 70), aCount(0, "failed", 30)],
      }),
    },
    [
      {
        kind: "host_failing",
        since: (THIS_HOUR - 3 * HOUR) / 1000,
        tasks: { count: 100, is_capped: false },
      },
    ],
  ],
  [
    "a provider connection with a refused API key, no money left, missing hooks and an answer that is not understood",
    {
      connections: [
        {
          ...ARK,
          keyRefusedAt: 7,
          fundsRefusedAt: 6,
          areHooksMissing: true,
          unclearAt: 8,
        },
      ],
      index: indexOf({ next: [aRepeat(1, { ...PENDING, dueAt: NOW + HOUR * 9 })] }),
    },
    [
      { kind: "key_refused", tasks: { count: 1, is_capped: false }, subject: { refused_at: 7 } },
      { kind: "funds_refused", subject: { connection: "ark", refused_at: 6 } },
      { kind: "hooks_missing", subject: { connection: "ark" } },
      { kind: "answer_unclear", since: 8 },
    ],
  ],
  [
    "a member of a pool whose key is refused, for which the number of waiting tasks is not known",
    {
      connections: [{ ...ARK, isPoolMember: true, keyRefusedAt: 7 }],
      index: indexOf({ next: [aRepeat(1, { ...PENDING, dueAt: NOW + HOUR * 9 })] }),
    },
    [{ kind: "key_refused", tasks: null, subject: { connection: "ark" } }],
  ],
  [
    "a connection at which submissions have waited for a place for half an hour, and one for a second less",
    {
      connections: [
        { ...ARK, waiting: 9, waitingSince: secondsAgo(30) },
        { ...ARK, name: "fal", waiting: 9, waitingSince: secondsAgo(30) + 1 },
      ],
    },
    [
      {
        kind: "queue_waits",
        since: secondsAgo(30),
        tasks: { count: 9, is_capped: false },
        subject: { connection: "ark" },
      },
    ],
  ],
  [
    "a paused host",
    {
      pausedHosts: [{ host: HOST, since: NOW - 2 * HOUR, until: NOW + HOUR, by: "alice" }],
    },
    [
      {
        kind: "host_paused",
        severity: "warning",
        since: (NOW - 2 * HOUR) / 1000,
        subject: { host: HOST, paused_until: (NOW + HOUR) / 1000, by: "alice" },
        actions: [
          { name: "inspect", method: "GET", path: `/v1/hosts/${HOST}` },
          { name: "list", method: "GET", path: `/v1/tasks?callback=paused&host=${HOST}` },
        ],
      },
    ],
  ],
  [
    "one refund that is unconfirmed for six minutes and one for four",
    {
      index: indexOf({
        next: [
          aRepeat(6, { ...REFUND, id: "old", finishedAt: NOW - 6 * MINUTE, dueAt: NOW + 1 }),
          aRepeat(4, { ...REFUND, finishedAt: NOW - 4 * MINUTE, dueAt: NOW + 1 }),
        ],
      }),
    },
    [
      {
        kind: "refund_delayed",
        since: secondsAgo(6),
        tasks: { count: 1, is_capped: false },
        subject: { task_id: "old" },
      },
    ],
  ],
  [
    "overdue tasks",
    { index: indexOf({ open: { tasks: 3, overdue: 2, overdueSince: NOW - 3 * MINUTE } }) },
    [{ kind: "tasks_overdue", since: secondsAgo(3), tasks: { count: 2, is_capped: false } }],
  ],
  [
    "overdue tasks and first attempts that wait during a pause",
    {
      isPaused: true,
      warnings: [{ path: "PAUSED", message: "is on" }],
      index: indexOf({
        open: { tasks: 3, overdue: 2 },
        next: [aRepeat(9, { ...REFUND, finishedAt: NOW - 9 * MINUTE, dueAt: NOW - 9 * MINUTE })],
      }),
    },
    [{ kind: "paused", severity: "warning" }],
  ],
  [
    "an open task past half of its time until the deadline",
    {
      index: indexOf({
        next: [
          aRepeat(0, { ...PENDING, id: "late", createdAt: NOW - 3 * HOUR, dueAt: NOW + HOUR }),
          aRepeat(0, { ...PENDING, createdAt: NOW - HOUR, dueAt: NOW + 2 * HOUR }),
        ],
      }),
    },
    [{ kind: "deadline_near", since: secondsAgo(60), subject: { task_id: "late" } }],
  ],
  [
    "submissions whose outcome is unknown",
    {
      index: indexOf({
        unknown: { tasks: 2, isCapped: true, oldestAt: NOW - 7 * MINUTE, oldestId: "lost" },
      }),
    },
    [
      {
        kind: "submit_unknown",
        severity: "warning",
        since: secondsAgo(7),
        tasks: { count: 2, is_capped: true },
        subject: { task_id: "lost" },
        actions: [
          { name: "inspect", method: "GET", path: "/v1/tasks/lost" },
          { name: "list", method: "GET", path: "/v1/tasks?submission=unknown" },
        ],
      },
    ],
  ],
  [
    "open tasks past half of the time for the answer to their submission, and for news of their job",
    {
      index: indexOf({
        next: ["sending", "unknown"].map((submission) =>
          aRepeat(0, { ...PENDING, submission, createdAt: NOW - 3 * MINUTE, dueAt: NOW + MINUTE }),
        ),
      }),
    },
    [],
  ],
  [
    "outputs that are being copied since a quarter of an hour",
    { index: indexOf({ copies: { outputs: 9, oldestAt: NOW - 15 * MINUTE } }) },
    [],
  ],
  [
    "outputs that should have been copied",
    {
      index: indexOf({
        copies: { outputs: 9, lateOutputs: 3, lateTasks: 2, oldestAt: NOW - 16 * MINUTE },
      }),
    },
    [
      {
        kind: "copies_late",
        severity: "warning",
        since: secondsAgo(16),
        tasks: { count: 2, is_capped: false },
      },
    ],
  ],
  [
    "an index that lags and is almost full",
    {
      index: indexOf({
        lags: [
          [0, 14],
          [5, 0],
        ],
        open: { sizeBytes: 8_000_000_000 },
      }),
    },
    [
      { kind: "index_lagging", subject: { lag_ms: 199_000 } },
      { kind: "index_full", severity: "warning", subject: { bytes: 8_000_000_000 } },
    ],
  ],
  [
    "an index with 6 of the 10 GB that a database holds",
    { index: indexOf({ open: { sizeBytes: 6_000_000_000 } }) },
    [{ kind: "index_full", severity: "notice", subject: { bytes: 6_000_000_000 } }],
  ],
  [
    "an index with 300 of the 500 MB that a database holds on the Free plan",
    { maxIndexBytes: MAX_INDEX_BYTES.free, index: indexOf({ open: { sizeBytes: 300_000_000 } }) },
    [{ kind: "index_full", severity: "notice", subject: { bytes: 300_000_000 } }],
  ],
  ["an index with less than 6 GB", { index: indexOf({ open: { sizeBytes: 5_999_999_999 } }) }, []],
  [
    "an index that lagged hours ago",
    {
      index: indexOf({
        lags: [
          [5, 14],
          [0, 0],
        ],
      }),
    },
    [],
  ],
  [
    "a doubtful setting in its configuration",
    { warnings: [{ path: "PUBLIC_URL", message: "is not set" }] },
    [{ kind: "configuration", severity: "notice", subject: { variable: "PUBLIC_URL" } }],
  ],
];

it.each(
  FOUND.map(([what, facts, expected]) => {
    const kinds = expected.map(({ kind }) => kind).join(", ");
    return [what, kinds === "" ? "none" : kinds, facts, expected] as const;
  }),
)(
  "when a relay has %s, the list of its problems has an entry of each of these types, and no other: %s",
  (_, _kinds, facts, expected) => {
    expect(troublesOf({ ...QUIET, ...facts })).toMatchObject(expected);
  },
);
