import type { Post } from "../../harness/receiver.ts";
import { inOne, inPostsOf, type Plant, type PlantedFault, plantedInAll } from "../planting.ts";
import { type Evidence, linkOf, type Recording, type SubmittedTask } from "./recording.ts";
import { isEnd, type JobAnswer } from "./waiting.ts";

/** Changes the first order of a recording for which `change` returns other evidence. */
const inOneOrder = inOne<Evidence, Recording>;

/** Changes the task of the first order that matches. */
const inOneTask = (isMeant: (evidence: Evidence) => boolean, change: Partial<SubmittedTask>) =>
  inOneOrder((each) =>
    each.task !== null && isMeant(each) ? { ...each, task: { ...each.task, ...change } } : null,
  );

/** Replaces the posts of the first order that has a post which is meant. */
const inPosts = (
  isMeant: (post: Post) => boolean,
  change: (posts: readonly Post[]) => readonly Post[],
) => inPostsOf<Evidence, Recording>(({ posts }) => posts.some(isMeant), change);

/** Changes the last answer to the first client that saw the end of its job. */
const inOneEnd = (change: Partial<JobAnswer>) =>
  inOneOrder((each) => {
    const last = each.reads.at(-1);
    if (!last?.answer || !isEnd(last.answer)) return null;
    const changed = { ...last, answer: { ...last.answer, ...change } };
    return { ...each, reads: [...each.reads.slice(0, -1), changed] };
  });

/** Removes or repeats the first entry of a kind, in the ledger of a recording. */
const inLedger =
  (kind: string, change: "removed" | "repeated"): Plant<Recording> =>
  ({ ledger, ...recording }) => {
    const at = ledger.entries.findIndex((entry) => entry.kind === kind);
    if (at === -1) return null;
    const again = change === "repeated" ? ledger.entries.slice(at, at + 1) : [];
    const entries = ledger.entries.toSpliced(at, change === "removed" ? 1 : 0, ...again);
    return { ...recording, ledger: { ...ledger, entries } };
  };

/** Changes the keys in the bucket. */
const inBucket =
  (change: (keys: readonly string[]) => readonly string[]): Plant<Recording> =>
  ({ bucket, ...recording }) => ({
    ...recording,
    bucket: { ...bucket, keys: change(bucket.keys) },
  });

const isCompleted = ({ task, order }: Evidence) => !order.isCall && task?.status === "completed";
const isCompletedCall = ({ task, order }: Evidence) => order.isCall && task?.status === "completed";
/** True for a call that a kill has interrupted: the upstream has made the image, and the task has failed. */
const isInterruptedCall = ({ order, submits, task }: Evidence) =>
  order.isCall &&
  order.conduct.answer === "id" &&
  submits.length === 1 &&
  task?.status === "failed";
const wasFoundByHook = (each: Evidence) => isCompleted(each) && each.answer?.status === 424;
const isLost = ({ submits, answer, order }: Evidence) =>
  submits.length === 1 && answer?.status === 424 && !order.conduct.sendsHooks;
const FAILED = { status: "failed", error: { code: "submit_unknown" }, output: undefined };

export const PLANTED_FAULTS: readonly PlantedFault<Recording>[] = [
  ...plantedInAll<Recording>(),
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
    what: "a call that was sent again after a restart",
    fault: "submitted twice for a task",
    plant: inOneOrder((each) =>
      isInterruptedCall(each) ? { ...each, submits: [...each.submits, ...each.submits] } : null,
    ),
  },
  {
    what: "a call that never reached the upstream, whose task has a result",
    fault: "and not as failed submit_unknown",
    plant: inOneOrder((each) => (isCompletedCall(each) ? { ...each, submits: [] } : null)),
  },
  {
    what: "a call whose link gives another image",
    fault: "another image than the upstream has sent",
    plant: inOneOrder((each) => (isCompletedCall(each) ? { ...each, image: "planted" } : null)),
  },
  {
    what: "a call that was not answered by 202",
    fault: "a 200 answer",
    plant: inOneOrder((each) =>
      isCompletedCall(each) && each.answer !== null
        ? { ...each, answer: { ...each.answer, status: 200 } }
        : null,
    ),
  },
  {
    what: "a call that was interrupted by a kill and has left a file behind",
    fault: "the bucket has not exactly the files of completed calls",
    plant: (recording) => {
      const { task } = recording.evidence.find(isInterruptedCall) ?? { task: null };
      if (task === null) return null;
      return inBucket((keys) => [...keys, `outputs/${task.id}/1/1`])(recording);
    },
  },
  {
    what: "a file of a completed call that is not in the bucket",
    fault: "the bucket has not exactly the files of completed calls",
    plant: inBucket((keys) => keys.slice(1)),
  },
  {
    what: "parts of an upload that a kill has interrupted",
    fault: "the bucket has 1 parts of unfinished uploads",
    plant: ({ bucket, ...recording }) => ({ ...recording, bucket: { ...bucket, parts: 1 } }),
  },
  {
    what: "an object that stores the body of a call for ever",
    fault: "calls are left",
    plant: (recording) => ({ ...recording, storedCalls: [{ kind: "sending", chunks: 1 }] }),
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
      output: { urls: [linkOf("planted")] },
      error: undefined,
    }),
  },
  {
    what: "a task with the output of another job",
    fault: "ended as completed",
    plant: inOneTask(isCompleted, { output: { urls: [linkOf("planted")] } }),
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
    what: "a reader whose job the relay did not know",
    fault: "a reader answered 404",
    plant: inOneEnd({ status: 404, taskId: null, jobId: null, state: null, output: null }),
  },
  {
    what: "a reader that got the answer about another job",
    fault: "a reader told of another job",
    plant: inOneEnd({ jobId: "other" }),
  },
  {
    what: "a reader that got the answer of another task",
    fault: "a reader told of another job",
    plant: inOneEnd({ taskId: "other" }),
  },
  {
    what: "a reader that was told for ever that its job was running",
    fault: "a reader that never saw the end",
    plant: inOneEnd({ state: "running" }),
  },
  {
    what: "an end of a job for which the upstream was not asked",
    fault: "an end that the upstream has not stated",
    plant: inOneOrder((each) => (each.reads.length > 0 ? { ...each, upstreamReads: [] } : null)),
  },
  {
    what: "a completed task whose reader was told that the job had failed",
    fault: "ended otherwise than its reader saw",
    plant: inOneEnd({ state: "failed" }),
  },
  {
    what: "a reader that was shown another output than the task has",
    fault: "ended otherwise than its reader saw",
    plant: inOneEnd({ output: linkOf("planted") }),
  },
  {
    what: "a charge that was booked while the client waited for its job",
    fault: "booked by a read",
    plant: ({ ledger, ...recording }) => {
      const waiting = recording.evidence.find(({ reads }) => reads.length > 0);
      if (waiting === undefined) return null;
      const entries = ledger.entries.map((entry) => {
        const isOwn = entry.task_id === waiting.answer?.taskId;
        return isOwn ? { ...entry, created_at: entry.created_at + 60 } : entry;
      });
      return { ...recording, ledger: { ...ledger, entries } };
    },
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
];
