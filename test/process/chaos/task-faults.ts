import { resultOf } from "./caller.ts";
import type { Finding, Read, Remembered } from "./evidence.ts";
import { callbackFaults } from "./callback-faults.ts";
import type { Story } from "./task-history.ts";
import type { Post } from "../harness/receiver.ts";

/** Where what is remembered of a task contradicts the promises. */
export function faultsOf(remembered: Remembered, genuine: ReadonlySet<Post>): string[] {
  const { story, task, posts } = remembered;
  const { plan, state } = story;
  const exists = state === "created" && task !== null;
  const findings: Finding[] = [
    ["accepted, and gone", state === "created" && task === null],
    ["refused or erased, and there", state !== "created" && task !== null],
    ["refused, and called back", state === "refused" && posts.length > 0],
    ...(exists ? resultFaults(story, task) : []),
    ...(exists ? callbackFaults(remembered, task) : []),
    ...(plan.credits === null ? [] : moneyFaults(remembered)),
    ["more POSTs than ordered", posts.length > 3 + sum(story.orders)],
    ["another body", posts.some(({ body }) => !isBodyOf(remembered, body))],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
  ];
  const found = findings.flatMap(([fault, isThere]) => (isThere ? [fault] : []));
  return [...story.faults, ...found].map((fault) => {
    return `${story.id} (nth ${plan.nth}, ${plan.birth}, ${plan.word?.result ?? "open"}): ${fault}`;
  });
}

/** The first accepted word stands, and nothing else was ever shown. */
function resultFaults({ plan, accepted, refused, shown }: Story, task: Read): Finding[] {
  const result = resultOf(task);
  const { word, rival } = plan;
  const possible = [word?.result, rival?.word.result];
  return [
    ["two results were accepted", accepted.size > 1],
    ["another result than the accepted one", accepted.size > 0 && !accepted.has(result ?? "")],
    ["a result that was refused", result !== null && refused.has(result)],
    ["a result that was shown otherwise", [...shown].some((each) => each !== result)],
    ["a result that nobody said", result !== null && !possible.includes(result)],
    ["not ended", word !== null && result === null],
  ];
}

/** A charge for each task, and a refund for each that has failed. */
function moneyFaults({ story, task, entries }: Remembered): Finding[] {
  const { state, plan, accepted } = story;
  const isPaid = state === "created" || state === "erased";
  const result = task === null ? [...accepted][0] : resultOf(task);
  const isFailure = isPaid && (result ?? "").startsWith("failed ");
  const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
  const { amount, state: shown } = task?.credits ?? {};
  return [
    ["not charged exactly once", count("charge") !== (isPaid ? 1 : 0)],
    ["not refunded as it should be", count("refund") !== (isFailure ? 1 : 0)],
    ["another price", entries.some((entry) => entry.amount !== plan.credits)],
    ["a refund of another charge", new Set(entries.map(({ reference }) => reference)).size > 1],
    ["another price shown", task !== null && amount !== plan.credits],
    ["other credits shown", task !== null && shown !== (isFailure ? "refunded" : "charged")],
  ];
}

/** Byte for byte the body that GET is built from, or that of the other POSTs where nothing can be read. */
function isBodyOf({ text, posts }: Remembered, body: string): boolean {
  return text === null ? body === posts[0]?.body : text.startsWith(`${body.slice(0, -1)},`);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
