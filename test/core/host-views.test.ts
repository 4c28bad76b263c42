import { expect, it } from "vitest";
import { failuresOf, hostViews } from "../../src/api/search/host-views.ts";
import { toSeconds } from "../../src/core/time.ts";
import {
  aCount,
  aFailure,
  aRepeat,
  HOST,
  HOUR,
  indexOf,
  NOW,
  secondsAgo,
  THIS_HOUR,
  THREE,
} from "./trouble-builders.ts";

/** Returns 24 numbers, which are 0 except the given ones. */
const byHour = (cells: Readonly<Record<number, number>>) =>
  Array.from({ length: 24 }, (_, n) => cells[n] ?? 0);

it("the list of the hosts that receive callbacks begins with those that fail now, then those with most failures, each with its counts of the last 24 hours; a paused host is in it without any callback", () => {
  const counts = [
    aCount(0, "delivered", 3, "good"),
    aCount(24, "delivered", 2, "good"),
    aCount(23, "failed", 2, "bad"),
    aCount(1, "delivered", 2, "bad"),
    aCount(1, "waiting", 5, ""),
  ];
  const paused = new Map([
    ["bad", NOW + HOUR],
    ["quiet", NOW + 2 * HOUR],
  ]);
  const hosts = hostViews(indexOf({ failed: THREE, counts }), paused, NOW);
  expect(hosts.map(({ host }) => host)).toEqual([HOST, "bad", "good", "quiet"]);
  const [failing, bad] = hosts;
  expect(failing).toMatchObject({
    callbacks: { total: 0, delivered: 0, failed: 0, sending: 0, retrying: 0, paused: 0 },
    success_rate: null,
    failing: {
      since: secondsAgo(30),
      failed: 3,
      sending: 0,
      outcome: "rejected",
      status_code: 503,
    },
    paused_until: null,
    last_failed_at: secondsAgo(5),
  });
  expect(bad).toEqual({
    host: "bad",
    callbacks: { total: 4, delivered: 2, failed: 2, sending: 0, retrying: 0, paused: 0 },
    success_rate: 0.5,
    attempts_per_callback: 2,
    failing: null,
    paused_until: toSeconds(NOW + HOUR),
    last_failed_at: null,
    last_delivered_hour: (THIS_HOUR - HOUR) / 1000,
    callbacks_by_hour: byHour({ 0: 2, 22: 2 }),
    failed_by_hour: byHour({ 0: 2 }),
  });
});

it("the failed callbacks to a host are counted by the outcome and HTTP status of their last attempt, and by account", () => {
  const failed = [
    ...THREE,
    aFailure(40, { lastOutcome: "timeout", lastStatusCode: null, account: null }),
  ];
  const next = [aRepeat(3), aRepeat(2, { host: "other" })];
  expect(failuresOf(HOST, indexOf({ failed, next }))).toEqual({
    outcomes: [
      {
        outcome: "rejected",
        status_code: 503,
        tasks: 4,
        first_at: secondsAgo(30),
        last_at: secondsAgo(5),
        task_id: "task-5",
      },
      {
        outcome: "timeout",
        status_code: null,
        tasks: 1,
        first_at: secondsAgo(55),
        last_at: secondsAgo(40),
        task_id: "task-40",
      },
    ],
    accounts: [
      { account: "acme", tasks: 4 },
      { account: null, tasks: 1 },
    ],
    sending: 1,
    first_failed_at: secondsAgo(55),
    is_capped: false,
  });
});
