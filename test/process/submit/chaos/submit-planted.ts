import type { Post } from "../../harness/receiver.ts";
import { outputOf } from "../fake-ark.ts";
import { faultsIn } from "./submit-faults.ts";
import type { Evidence, Recording, SubmittedTask } from "./submit-recording.ts";

/** A fault that is planted into a recording. */
interface PlantedFault {
  readonly what: string;
  /** Text that the faults must contain then. */
  readonly fault: string;
  /** Returns the recording with the fault; null when it has nothing in which the fault can be planted. */
  readonly plant: (recording: Recording) => Recording | null;
}

/** Changes the first order of a recording for which `change` returns other evidence. */
const inOneOrder =
  (change: (evidence: Evidence) => Evidence | null): PlantedFault["plant"] =>
  (recording) => {
    for (const [i, each] of recording.evidence.entries()) {
      const changed = change(each);
      if (changed !== null) return { ...recording, evidence: recording.evidence.with(i, changed) };
    }
    return null;
  };

/** Changes the task of the first order that matches. */
const inOneTask = (isMeant: (evidence: Evidence) => boolean, change: Partial<SubmittedTask>) =>
  inOneOrder((each) =>
    each.task !== null && isMeant(each) ? { ...each, task: { ...each.task, ...change } } : null,
  );

/** Replaces the posts of the first order that has a post which is meant; what replaces them counts as signed. */
const inPosts =
  (
    isMeant: (post: Post) => boolean,
    change: (posts: readonly Post[]) => readonly Post[],
  ): PlantedFault["plant"] =>
  (recording) => {
    const changed = inOneOrder((each) =>
      each.posts.some(isMeant) ? { ...each, posts: change(each.posts) } : null,
    )(recording);
    if (changed === null) return null;
    return { ...changed, genuine: new Set(changed.evidence.flatMap(({ posts }) => posts)) };
  };

/** Removes or repeats the first entry of a kind, in the ledger of a recording. */
const inLedger =
  (kind: string, change: "removed" | "repeated"): PlantedFault["plant"] =>
  ({ ledger, ...recording }) => {
    const at = ledger.entries.findIndex((entry) => entry.kind === kind);
    if (at === -1) return null;
    const again = change === "repeated" ? ledger.entries.slice(at, at + 1) : [];
    const entries = ledger.entries.toSpliced(at, change === "removed" ? 1 : 0, ...again);
    return { ...recording, ledger: { ...ledger, entries } };
  };

const isCompleted = ({ task }: Evidence) => task?.status === "completed";
const wasFoundByHook = (each: Evidence) => isCompleted(each) && each.answer?.status === 424;
const isLost = ({ submits, answer, order }: Evidence) =>
  submits.length === 1 && answer?.status === 424 && !order.conduct.sendsHooks;
const FAILED = { status: "failed", error: { code: "submit_unknown" }, output: undefined };

const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    what: "a submission that reached the upstream twice",
    fault: "submitted twice for a task",
    plant: inOneOrder((each) =>
      isCompleted(each) ? { ...each, submits: [...each.submits, ...each.submits] } : null,
    ),
  },
  {
    what: "a second task for an order whose job had started",
    fault: "submitted again after its job had started",
    plant: inOneOrder((each) => {
      const again = each.submits.map((submit) => ({ ...submit, hookUrl: `${submit.hookUrl}2` }));
      return isCompleted(each) ? { ...each, submits: [...each.submits, ...again] } : null;
    }),
  },
  {
    what: "an accepted job without a task",
    fault: "lost",
    plant: inOneOrder((each) => (isCompleted(each) ? { ...each, task: null } : null)),
  },
  {
    what: "a job that its hooks did not bring back",
    fault: "ended as failed submit_unknown",
    plant: inOneTask(wasFoundByHook, FAILED),
  },
  {
    what: "a job of which nobody knows, whose task has a result",
    fault: "and not as failed submit_unknown",
    plant: inOneTask(isLost, {
      status: "completed",
      output: { urls: [outputOf("planted")] },
      error: undefined,
    }),
  },
  {
    what: "a task with the output of another job",
    fault: "ended as completed",
    plant: inOneTask(isCompleted, { output: { urls: [outputOf("planted")] } }),
  },
  {
    what: "a task that has not ended",
    fault: "ended as null",
    plant: inOneTask(() => true, { status: "pending" }),
  },
  {
    what: "a refused submission that has left a task",
    fault: "refused, and there",
    plant: (recording) => {
      const task = recording.evidence.find(isCompleted)?.task ?? null;
      return inOneOrder((each) => (each.answer?.status === 400 ? { ...each, task } : null))(
        recording,
      );
    },
  },
  {
    what: "a refusal of a job that the upstream has started",
    fault: "a refusal that the upstream did not make",
    plant: inOneOrder((each) =>
      isCompleted(each) && each.answer !== null
        ? { ...each, answer: { ...each.answer, status: 400 } }
        : null,
    ),
  },
  {
    what: "an answer with the id of another job",
    fault: "the answer of another job",
    plant: inOneOrder((each) =>
      each.answer?.status === 200 ? { ...each, answer: { ...each.answer, jobId: "other" } } : null,
    ),
  },
  {
    what: "a caller without an answer",
    fault: "no final answer",
    plant: inOneOrder((each) => ({ ...each, answer: null })),
  },
  {
    what: "a callback that never arrived",
    fault: "no callback",
    plant: inPosts(
      () => true,
      () => [],
    ),
  },
  {
    what: "a callback with another result",
    fault: "another callback than the result",
    plant: inPosts(
      ({ body }) => body.includes("cgt-"),
      (posts) => posts.map((post) => ({ ...post, body: post.body.replaceAll("cgt-", "other-") })),
    ),
  },
  {
    what: "a callback whose signature is not valid",
    fault: "a callback that does not verify",
    plant: ({ genuine, ...recording }) =>
      genuine.size === 0 ? null : { ...recording, genuine: new Set([...genuine].slice(1)) },
  },
  {
    what: "a callback to an address that no order has",
    fault: "a POST to /planted",
    plant: (recording) => ({ ...recording, strangePaths: ["/planted"] }),
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
    what: "a charge that was not booked",
    fault: "not charged exactly once",
    plant: inLedger("charge", "removed"),
  },
  {
    what: "a refund that was not booked",
    fault: "not charged exactly once",
    plant: inLedger("refund", "removed"),
  },
  {
    what: "an account with another balance than its entries have",
    fault: " shown",
    plant: ({ ledger, ...recording }) => ({
      ...recording,
      ledger: { ...ledger, balance: ledger.balance + 1 },
    }),
  },
  {
    what: "an entry of a task that nobody has ordered",
    fault: "booked {",
    plant: ({ ledger, ...recording }) => ({
      ...recording,
      ledger: {
        ...ledger,
        entries: ledger.entries.map((entry) => ({ ...entry, task_id: "planted" })),
      },
    }),
  },
  {
    what: "a log line that says that a task's work loop has failed",
    fault: "loop.failed",
    plant: (recording) => ({ ...recording, log: `${recording.log}\n{"event":"loop.failed"}\n` }),
  },
];

/**
 * Plants each fault into a copy of a recording without faults. @returns the faults that the checks do not notice, or for
 * which the recording has no place.
 */
export function unnoticedFaults(recording: Recording): readonly string[] {
  return PLANTED_FAULTS.flatMap(({ what, fault, plant }) => {
    const changed = plant(recording);
    if (changed === null) return [`nothing was recorded to plant: ${what}`];
    const isNoticed = faultsIn(changed).some((text) => text.includes(fault));
    return isNoticed ? [] : [`the checks do not notice: ${what}`];
  });
}
