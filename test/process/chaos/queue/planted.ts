import { inOne, type Plant, type PlantedFault, plantedInAll } from "../planting.ts";
import { PLACES } from "./orders.ts";
import type { Evidence, Recording } from "./recording.ts";

/** Changes the first order of a recording for which `change` returns other evidence. */
const inOneOrder = inOne<Evidence, Recording>;

/** Changes the first order whose task has this status. */
const inOneTask = (status: string, change: (each: Evidence) => Partial<Evidence>) =>
  inOneOrder((each) => (each.task?.status === status ? { ...each, ...change(each) } : null));

/** Removes or repeats the first entry of a kind, in the ledger of the first account. */
const inLedger =
  (kind: string, change: "removed" | "repeated"): Plant<Recording> =>
  (recording) => {
    const [ledger, ...others] = recording.ledgers;
    const at = ledger?.entries.findIndex((entry) => entry.kind === kind) ?? -1;
    if (ledger === undefined || at === -1) return null;
    const again = change === "repeated" ? ledger.entries.slice(at, at + 1) : [];
    const entries = ledger.entries.toSpliced(at, change === "removed" ? 1 : 0, ...again);
    return { ...recording, ledgers: [{ ...ledger, entries }, ...others] };
  };

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  ...plantedInAll<Recording>(),
  {
    what: "a key with one job more in flight than its connection has places",
    fault: "member-b: 3 jobs in flight at 2 places",
    plant: (recording) => ({
      ...recording,
      mostInFlight: new Map(recording.mostInFlight).set("member-b", PLACES["member-b"] + 1),
    }),
  },
  {
    what: "a place that was never given back",
    fault: "places are left",
    plant: (recording) => ({ ...recording, leftRows: [{ task_id: "planted", state: "held" }] }),
  },
  {
    what: "an object that stores a call for ever",
    fault: "calls are left",
    plant: (recording) => ({ ...recording, storedCalls: [{ kind: "queued", chunks: 1 }] }),
  },
  {
    what: "a call that was sent again after its job had started",
    fault: "sent again without a proof that nothing was started",
    plant: inOneTask("completed", ({ submits }) => ({ submits: [...submits, ...submits] })),
  },
  {
    what: "a second task whose job was started for the same order",
    fault: "a job was started twice",
    plant: inOneTask("completed", ({ submits }) => ({
      submits: [...submits, ...submits.map((each) => ({ ...each, hookUrl: "planted" }))],
    })),
  },
  {
    what: "a call that was sent with the key of another connection",
    fault: "sent with a foreign key",
    plant: inOneOrder((each) => {
      const [first, ...others] = each.submits;
      if (first === undefined || each.order.via !== "solo") return null;
      return { ...each, submits: [{ ...first, connection: "member-a" }, ...others] };
    }),
  },
  {
    what: "an accepted job without a task",
    fault: "lost",
    plant: inOneTask("completed", () => ({ task: null })),
  },
  {
    what: "a task that has not ended",
    fault: "has not ended",
    plant: inOneOrder((each) =>
      each.task === null ? null : { ...each, task: { ...each.task, status: "pending" } },
    ),
  },
  {
    what: "a submission that was sent after its time to wait was over",
    fault: "ended as failed queue_timeout",
    plant: inOneOrder((each) => {
      const task = each.task;
      if (task?.status !== "completed") return null;
      const error = { code: "queue_timeout" };
      return { ...each, task: { ...task, status: "failed", error } };
    }),
  },
  {
    what: "a task that was canceled, whose job was started",
    fault: "ended as failed canceled",
    plant: inOneOrder((each) => {
      const task = each.task;
      if (task?.status !== "completed") return null;
      return { ...each, task: { ...task, status: "failed", error: { code: "canceled" } } };
    }),
  },
  {
    what: "a client that was told that no place is free, and whose job was started",
    fault: "refused, and there",
    plant: inOneOrder((each) =>
      each.task !== null && each.answer !== null
        ? { ...each, answer: { ...each.answer, status: 429 } }
        : null,
    ),
  },
  {
    what: "a client without an answer",
    fault: "no final answer",
    plant: inOneOrder((each) => ({ ...each, answer: null })),
  },
  {
    what: "an answer that names the task of another order",
    fault: "the id of another task",
    plant: inOneTask("completed", ({ answer }) => ({
      answer: answer === null ? null : { ...answer, taskId: "other" },
    })),
  },
  {
    what: "a callback that never arrived",
    fault: "no callback",
    plant: inOneTask("completed", () => ({ posts: [] })),
  },
  {
    what: "a callback that arrived twice",
    fault: "more than one callback",
    plant: inOneOrder((each) => {
      const isWhole = each.task?.callback.attempts.length === 1;
      return isWhole && each.posts.length === 1
        ? { ...each, posts: [...each.posts, ...each.posts] }
        : null;
    }),
  },
  {
    what: "a hook that the relay refused",
    fault: "a hook refused: planted",
    plant: (recording) => ({ ...recording, refusedHooks: ["planted"] }),
  },
  {
    what: "a charge that was booked twice",
    fault: "not charged exactly once",
    plant: inLedger("charge", "repeated"),
  },
  {
    what: "a refund that was not booked",
    fault: "not charged exactly once",
    plant: inLedger("refund", "removed"),
  },
];
