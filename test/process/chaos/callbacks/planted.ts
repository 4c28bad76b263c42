import type { Post } from "../../harness/receiver.ts";
import { inOne, inPostsOf, type PlantedFault, plantedInAll } from "../planting.ts";
import type { Evidence, ReadTask, Recording } from "./recording.ts";

type Attempt = NonNullable<ReadTask["callback"]>["attempts"][number];

/** Changes the first task of a recording for which `change` returns other evidence. */
const inOneTask = inOne<Evidence, Recording>;

/** Changes the attempts of the first task that has a matching attempt. */
const inAttempts = (
  isMeant: (attempt: Attempt, task: Evidence) => boolean,
  change: (attempts: readonly Attempt[], at: number) => readonly Attempt[],
) =>
  inOneTask((evidence) => {
    const callback = evidence.task?.callback ?? null;
    if (evidence.task === null || callback === null) return null;
    const at = callback.attempts.findIndex((attempt) => isMeant(attempt, evidence));
    if (at === -1) return null;
    const attempts = [...change(callback.attempts, at)];
    return { ...evidence, task: { ...evidence.task, callback: { ...callback, attempts } } };
  });

/** Replaces the posts of the first task whose callback was delivered. */
const inPosts = (change: (posts: readonly Post[]) => readonly Post[]) =>
  inPostsOf<Evidence, Recording>(
    ({ task }) =>
      task?.callback?.attempts.some(
        ({ outcome, status_code }) => outcome === "delivered" && status_code === 200,
      ) === true,
    change,
  );

function openOf(attempt: Attempt): Attempt {
  const { outcome: _, ...open } = attempt;
  return open;
}

const isOpen = ({ history, task }: Evidence) => history.accepted.size === 0 || task === null;

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  ...plantedInAll<Recording>(),
  {
    what: "an accepted task that is gone",
    fault: "accepted, and gone",
    plant: inOneTask((each) => (isOpen(each) ? null : { ...each, task: null, text: null })),
  },
  {
    what: "a task that ended in another way than was accepted",
    fault: "another result than the accepted one",
    plant: inOneTask((each) => {
      if (each.task === null || isOpen(each)) return null;
      const { output: _, ...task } = each.task;
      return { ...each, task: { ...task, status: "failed", error: { code: "planted" } } };
    }),
  },
  {
    what: "a POST that never arrived, whose attempt counts as delivered",
    fault: "a false delivered",
    plant: inPosts((posts) => posts.filter(({ answeredStatus }) => answeredStatus !== 200)),
  },
  {
    what: "a POST that arrived twice",
    fault: "a number sent twice",
    plant: inPosts((posts) => [...posts, ...posts]),
  },
  {
    what: "a POST with another body",
    fault: "another body",
    plant: inPosts((posts) =>
      posts.map((post) => ({ ...post, body: post.body.replace('"model"', '"Model"') })),
    ),
  },
  {
    what: "an attempt that has no end",
    fault: "an attempt left open",
    plant: inAttempts(
      ({ outcome }) => outcome === "delivered",
      (attempts, at) => attempts.map((attempt, i) => (i === at ? openOf(attempt) : attempt)),
    ),
  },
  {
    what: "a further attempt before its time",
    fault: "an attempt before its time",
    plant: inAttempts(
      ({ series, number }) => series === 1 && number === 2,
      (attempts, at) =>
        attempts.map((attempt, i) => (i === at ? { ...attempt, started_at: 0 } : attempt)),
    ),
  },
  {
    what: "a callback given up after its second attempt",
    fault: "gave up too early",
    plant: inAttempts(
      ({ number }, { task, history }) =>
        number === 3 && task?.callback?.status === "failed" && history.orders.length === 0,
      (attempts, at) => attempts.toSpliced(at, 1),
    ),
  },
  {
    what: "a charge that was booked twice",
    fault: "not charged exactly once",
    plant: inOneTask((each) => {
      const charges = each.entries.filter(({ kind }) => kind === "charge");
      return charges.length === 0 ? null : { ...each, entries: [...each.entries, ...charges] };
    }),
  },
  {
    what: "a refund that was not booked",
    fault: "wrong number of refunds",
    plant: inOneTask((each) => {
      const others = each.entries.filter(({ kind }) => kind !== "refund");
      return others.length === each.entries.length ? null : { ...each, entries: others };
    }),
  },
  {
    what: "a failure that was announced before its refund",
    fault: "task.failed before its refund",
    plant: (recording) => ({ ...recording, tooEarly: ["planted: task.failed before its refund"] }),
  },
  {
    what: "a ledger with an entry that is booked twice",
    fault: "booked {",
    plant: ({ ledgers, ...recording }) => ({
      ...recording,
      ledgers: ledgers.map((each) => ({
        ...each,
        entries: [...each.entries, ...each.entries.slice(-1)],
      })),
    }),
  },
  {
    what: "an account with another balance than its entries have",
    fault: " shown",
    plant: ({ ledgers, ...recording }) => ({
      ...recording,
      ledgers: ledgers.map((each) => ({ ...each, balance: each.balance + 1 })),
    }),
  },
];
