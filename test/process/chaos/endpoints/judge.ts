import type { Task } from "../../harness/client.ts";
import {
  type Attempt,
  isEarly,
  lengthFaults,
  numberOf,
  recordFaults,
  stateFaults,
} from "../attempts.ts";
import { countOf, type Entry, ledgerFaults } from "../ledger.ts";
import { type Finding, present, strangeIn } from "../witnessed.ts";
import { type EndpointState, statesWithin } from "./endpoint-history.ts";
import { DEFAULT, DEFAULT_SCHEDULE_S } from "./plan.ts";
import {
  endpointKey,
  type Evidence,
  hostOf,
  isProgress,
  type Recording,
  type SignedPost,
  type TaskHistory,
  urlOf,
} from "./recording.ts";

/** Beginning of the values of all headers of endpoints, which nothing shows. */
export const TOKEN_START = "endpoint-token-";

/** Time in milliseconds for which a task may get the endpoint `default` as it was before a change. */
const DEFAULT_STALE_MS = 62_000;
/** Time in milliseconds after the order of a pause in which posts may still arrive: 10 s, and 2 s for a busy machine. */
const PAUSE_SEEN_MS = 12_000;

/** A series of attempts, and what was received of it. */
interface Series {
  readonly attempts: readonly Attempt[];
  readonly urls: readonly string[];
  readonly posts: readonly SignedPost[];
}

/** A way in which a series must fit one of the states that its endpoint may have had. */
type Facet = readonly [fault: string, fits: (state: EndpointState, series: Series) => boolean];

const OF_REQUESTS: readonly Facet[] = [
  [
    "a URL that its endpoint did not have",
    ({ url }, { urls, posts }) => [...urls, ...posts.map(urlOf)].every((each) => each === url),
  ],
  [
    "headers that its endpoint did not have",
    ({ token }, { posts }) =>
      posts.every(({ headers }) => (headers["x-endpoint-token"] ?? null) === token),
  ],
  [
    "a secret that does not sign for its endpoint",
    (state, { posts }) => posts.every((post) => isSignedFor(state, post)),
  ],
];
const OF_AUTOMATIC: readonly Facet[] = [
  ...OF_REQUESTS,
  [
    "attempts that the waits of its endpoint do not say",
    ({ scheduleS }, { attempts }) => areAsScheduled(attempts, scheduleS ?? DEFAULT_SCHEDULE_S),
  ],
];

/** Lists what in a recording contradicts the promises about endpoints and pauses of hosts. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledgers } = recording;
  const ids = new Set(evidence.map(({ history }) => history.plan.id));
  const isOrdered = ({ kind, task_id: id }: Entry) =>
    kind === "grant" || (id !== undefined && ids.has(id));
  return [
    ...evidence.flatMap((each) => taskFaults(each, recording)),
    ...ledgers.flatMap((ledger) => ledgerFaults(ledger, isOrdered)),
    ...(recording.log.includes(TOKEN_START) ? ["the log shows a header of an endpoint"] : []),
    ...strangeIn(recording),
  ];
}

/** Lists the facts about a task that contradict the promises. */
function taskFaults(evidence: Evidence, recording: Recording): readonly string[] {
  const { history, task, text, posts } = evidence;
  const { plan, registered } = history;
  const possible = possibleCopies(history, recording);
  const isRefused = registered?.isRefused === true;
  const findings: readonly Finding[] = [
    ["no final answer to the registration", registered === null],
    ["refused although its endpoint was there", isRefused && !possible.includes(null)],
    ["refused, and there", isRefused && task !== null],
    ["refused, and called back", isRefused && posts.length > 0],
    ["accepted, and gone", !isRefused && task === null],
    ["a header of its endpoint is shown", text?.includes(TOKEN_START) === true],
    ...creditFaults(evidence),
    ...postFaults(posts, recording),
    ...(isRefused || task === null ? [] : callbackFaults(evidence, task, possible, recording)),
  ];
  const about = `${plan.id} (${plan.owner ?? "relay"}, ${plan.endpoint ?? "no receiver"}, ${plan.end})`;
  return [...history.faults, ...present(findings)].map((fault) => `${about}: ${fault}`);
}

/** Returns what the endpoint of a task may have been when the task was registered. */
function possibleCopies(
  { plan, registered }: TaskHistory,
  { changes }: Recording,
): readonly (EndpointState | null)[] {
  if (registered === null) return [];
  const { owner, endpoint } = plan;
  const staleMs = endpoint === null ? DEFAULT_STALE_MS : 0;
  const span = { ...registered, sentAt: registered.sentAt - staleMs };
  return statesWithin(changes.get(endpointKey(owner, endpoint ?? DEFAULT)) ?? [], span);
}

/** Checks that a task was charged once when it was accepted, and refunded once when it failed. */
function creditFaults({ history, entries }: Evidence): readonly Finding[] {
  const { plan, registered, ended } = history;
  const isPaid = plan.credits !== null && registered?.isRefused === false;
  const isBack = isPaid && ended !== null && plan.end === "failed";
  return [
    ["not charged exactly once", countOf(entries, "charge") !== (isPaid ? 1 : 0)],
    ["wrong number of refunds", countOf(entries, "refund") !== (isBack ? 1 : 0)],
  ];
}

/** Checks that each post verifies, and that none was sent to a paused host. */
function postFaults(
  posts: readonly SignedPost[],
  { genuine, pauses }: Recording,
): readonly Finding[] {
  const isPaused = (post: SignedPost) =>
    pauses.some(({ host, orderedAt, endedAt }) => {
      const isWithin = post.arrivedAt > orderedAt + PAUSE_SEEN_MS && post.arrivedAt < endedAt;
      return isWithin && host === hostOf(post);
    });
  return [
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
    ["a callback to a paused host", posts.some(isPaused)],
  ];
}

/** Compares the attempts of a task with what its endpoint was at the registration, and with its orders. */
function callbackFaults(
  { history, posts }: Evidence,
  task: Task,
  possible: readonly (EndpointState | null)[],
  { changes }: Recording,
): readonly Finding[] {
  const { plan, ended, orders } = history;
  if (ended === null) return [["not ended", true]];
  const known = possible.filter((state) => state !== null);
  const taken = orders.filter(({ isRefused }) => !isRefused);
  const attempts = task.callback?.attempts ?? [];
  const [progress, sent] = [posts.filter(isProgress), posts.filter((post) => !isProgress(post))];
  const series = Map.groupBy(attempts, (attempt) => attempt.series);
  const seriesOf = (number: number): Series => {
    const made = series.get(number) ?? [];
    const numbers = new Set(made.map((attempt) => attempt.number));
    const urls = made.map(({ url }) => url ?? task.callback?.url ?? "");
    return { attempts: made, urls, posts: sent.filter((post) => numbers.has(numberOf(post))) };
  };
  const isTold = series.has(1);
  const isQuiet = possible.some((state) => state === null || !state.events.includes(plan.end));
  const took = known.filter(({ events }) => events.includes(plan.end));
  const tookProgress = known.filter(({ events }) => events.includes("progress"));
  return [
    ["accepted although its endpoint was not there", plan.endpoint !== null && known.length === 0],
    ["no attempt of an end that its endpoint takes", !isTold && !isQuiet],
    ["a callback of an end that its endpoint does not take", isTold && took.length === 0],
    ["another number of series", series.size !== taken.length + (isTold ? 1 : 0)],
    ...(attempts.length > 0 ? stateFaults(task.callback) : []),
    ...recordFaults(attempts, sent),
    ...(isTold ? misfits(OF_AUTOMATIC, took, seriesOf(1)) : []),
    ["progress that its endpoint does not take", progress.length > 0 && tookProgress.length === 0],
    ...misfits(OF_REQUESTS, tookProgress, { attempts: [], urls: [], posts: progress }),
    ...orders.flatMap((order) => {
      const states = changes.get(endpointKey(plan.owner, order.name)) ?? [];
      return orderFaults(order, statesWithin(states, order), seriesOf(2 + taken.indexOf(order)));
    }),
  ];
}

/** Compares the attempts of a redelivery with what its endpoint was when it was ordered. */
function orderFaults(
  { attempts, isRefused }: TaskHistory["orders"][number],
  possible: readonly (EndpointState | null)[],
  series: Series,
): readonly Finding[] {
  if (isRefused) {
    return [["a redelivery refused although its endpoint was there", !possible.includes(null)]];
  }
  const known = possible.filter((state) => state !== null);
  return [
    ["a redelivery accepted although its endpoint was not there", known.length === 0],
    ...lengthFaults(series.attempts, attempts),
    ...misfits(OF_REQUESTS, known, series).map(([fault, isThere]): Finding => {
      return [`redelivered with ${fault}`, isThere];
    }),
  ];
}

/** Finds the first facet in which a series fits none of the states that fit it in all facets before. */
function misfits(
  facets: readonly Facet[],
  states: readonly EndpointState[],
  series: Series,
): readonly Finding[] {
  let fitting = states;
  for (const [fault, fits] of facets) {
    const left = fitting.filter((state) => fits(state, series));
    if (left.length === 0 && fitting.length > 0) return [[fault, true]];
    fitting = left;
  }
  return [];
}

/** Tells whether a post verifies with the secret of a state, and with none that is not of the same endpoint. */
function isSignedFor({ signer }: EndpointState, { signers }: SignedPost): boolean {
  const isSigned = signers.some(
    ({ chain, generation }) => chain === signer.chain && generation === signer.generation,
  );
  return isSigned && signers.every(({ chain }) => chain === signer.chain);
}

/** Wait in seconds after the first attempt of a series that a crash has interrupted. */
const AFTER_INTERRUPTION_S = 5;

/** Tells whether automatic attempts are as many as the waits say, and none came before its time. */
function areAsScheduled(attempts: readonly Attempt[], scheduleS: readonly number[]): boolean {
  const isPresent = present(lengthFaults(attempts, scheduleS.length)).length > 0;
  if (isPresent) return false;
  const interrupted = attempts.findIndex(({ outcome }) => outcome === "interrupted");
  return attempts.every((attempt, i) => {
    const before = attempts[i - 1];
    if (before === undefined) return true;
    if (i - 1 === interrupted) return !isEarly(before, attempt, AFTER_INTERRUPTION_S);
    const isShifted = interrupted !== -1 && interrupted < i - 1;
    return !isEarly(before, attempt, scheduleS[isShifted ? i - 1 : i] ?? 0);
  });
}
