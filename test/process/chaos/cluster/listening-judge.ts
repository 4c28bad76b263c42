import { createHash } from "node:crypto";
import type { Post } from "../../harness/receiver.ts";
import { numberOf, recordFaults, stateFaults } from "../attempts.ts";
import { AUTOMATIC_ATTEMPTS } from "../callbacks/judge.ts";
import { inOne, inPostsOf, type PlantedFault } from "../planting.ts";
import { isSame } from "../submissions/judge.ts";
import { present } from "../witnessed.ts";
import { type ListenedRecording, type ListenedTask, outputBytes, taskOf } from "./listening.ts";

/** Lists what in a recording contradicts the promises about callbacks to listeners and about outputs. */
export function faultsIn({ evidence, genuine, copies }: ListenedRecording): readonly string[] {
  const faults = evidence.flatMap((task) => {
    return taskFaults(task, genuine).map((fault) => `${task.id}: ${fault}`);
  });
  const isExact = isSame(
    copies.map(taskOf),
    evidence.map(({ id }) => id),
  );
  return [...faults, ...present([["not exactly one copy of each output", !isExact]])];
}

function taskFaults(
  { id, callback, orders, posts, digest }: ListenedTask,
  genuine: ReadonlySet<Post>,
): readonly string[] {
  const attempts = callback?.attempts ?? [];
  const byNumber = new Map(posts.map((post) => [numberOf(post), post]));
  const expected = createHash("sha256").update(outputBytes(id)).digest("hex");
  const sent = posts.map((post) => `${post.path} ${numberOf(post)}`);
  return present([
    ["never delivered", callback?.status !== "delivered"],
    ...stateFaults(callback),
    ["more attempts than ordered", attempts.length > AUTOMATIC_ATTEMPTS + orders],
    ["an attempt that one listener got twice", new Set(sent).size < sent.length],
    // All listeners get each attempt.
    ...recordFaults(attempts, [...byNumber.values()]),
    ["a link that gives something else than the output", digest !== expected],
    ["bodies that differ", new Set(posts.map(({ body }) => body)).size > 1],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
  ]);
}

/** Replaces the posts of the first task of which several listeners have got the callback. */
const inPosts = (change: (posts: readonly Post[]) => readonly Post[]) =>
  inPostsOf<ListenedTask, ListenedRecording>(({ posts }) => posts.length > 1, change);

export const PLANTED_FAULTS: readonly PlantedFault<ListenedRecording>[] = [
  {
    what: "a callback that no listener ever got",
    fault: "never delivered",
    plant: inOne<ListenedTask, ListenedRecording>((task) => ({ ...task, callback: null })),
  },
  {
    what: "an attempt that a listener got again after a restart",
    fault: "an attempt that one listener got twice",
    plant: inPosts((posts) => [...posts, ...posts]),
  },
  {
    what: "a delivery that no listener knows",
    fault: "a false delivered",
    plant: inPosts(() => []),
  },
  {
    what: "an attempt that the task has not recorded",
    fault: "a POST without a record",
    plant: inPosts((posts) =>
      posts.map((post) => ({ ...post, headers: { ...post.headers, "x-attempt": "99" } })),
    ),
  },
  {
    what: "listeners that got different bodies",
    fault: "bodies that differ",
    plant: inPosts(([first, ...others]) =>
      first === undefined ? [] : [{ ...first, body: "{}" }, ...others],
    ),
  },
  {
    what: "a link that gives another file",
    fault: "a link that gives something else than the output",
    plant: inOne<ListenedTask, ListenedRecording>((task) => ({ ...task, digest: "planted" })),
  },
  {
    what: "an output that was stored again at another place of the bucket",
    fault: "not exactly one copy of each output",
    plant: ({ copies, ...recording }) => ({
      ...recording,
      copies: [...copies, ...copies.slice(0, 1)],
    }),
  },
  {
    what: "a callback to a listener whose signature is not valid",
    fault: "a callback that does not verify",
    plant: (recording) =>
      recording.genuine.size === 0 ? null : { ...recording, genuine: new Set() },
  },
];
