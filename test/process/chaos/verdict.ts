import { booksOf, type Entry, faultsOfBooks } from "./accounts.ts";
import type { Caller } from "./caller.ts";
import { faultsOf } from "./task-faults.ts";
import type { Deaths } from "./kills.ts";
import { TENANTS } from "./plan.ts";
import { type Remembered, readOf } from "./evidence.ts";
import type { Story } from "./task-history.ts";
import { Tally } from "./counters.ts";
import { inParallel } from "../harness/parallel.ts";
import type { Post, Receiver } from "../harness/receiver.ts";
import type { Upstream } from "../upstreams/fake-upstream.ts";
import type { Workerd } from "../harness/workerd.ts";

const PARALLEL = 12;
/** What a relay says of itself when it is in trouble that no crash explains. */
const TROUBLE = /^.*(?:alarm\.failed|loop\.failed|internal.error).*$/gim;

export interface Round {
  readonly relay: Workerd;
  readonly receiver: Receiver;
  readonly upstream: Upstream;
  readonly caller: Caller;
  readonly stories: readonly Story[];
  /** Callbacks that were found to be signed and labelled as they should be. */
  readonly genuine: ReadonlySet<Post>;
  readonly tooEarly: readonly string[];
  readonly deaths: Deaths;
}

export interface Judgement {
  readonly tally: Tally;
  readonly faults: readonly string[];
}

/** Reads everything, and compares what the operator, the relay, its ledger and the receiver remember. */
export async function judged(round: Round): Promise<Judgement> {
  const { relay, receiver, caller, stories, genuine, tooEarly, deaths } = round;
  const books = await Promise.all(TENANTS.map(({ id }) => booksOf(caller, id)));
  const entries = Map.groupBy(
    books.flatMap((each) => each.entries),
    ({ task_id }) => task_id,
  );
  const posts = Map.groupBy(receiver.posts, ({ path }) => path);
  const tasks = await inParallel(PARALLEL, stories, (story) =>
    remember(caller, story, posts, entries),
  );
  const tally = new Tally();
  for (const task of tasks) tally.task(task);
  tally.deaths(deaths);
  tally.add("requests repeated", caller.repeats);
  tally.add("polls answered", round.upstream.polls.length);
  for (const [status, count] of caller.statuses) tally.add(`answers ${status}`, count);
  const paths = new Set(stories.map(({ plan }) => plan.path));
  const strays = [...posts.keys()].filter((path) => !paths.has(path));
  return {
    tally,
    faults: [
      ...tasks.flatMap((task) => faultsOf(task, genuine)),
      ...books.flatMap((each) => faultsOfBooks(each, stories)),
      ...tooEarly,
      ...strays.map((path) => `a POST to ${path}, which nobody has named`),
      ...(relay.output.match(TROUBLE) ?? []),
    ],
  };
}

async function remember(
  caller: Caller,
  story: Story,
  posts: ReadonlyMap<string, readonly Post[]>,
  entries: ReadonlyMap<string | undefined, readonly Entry[]>,
): Promise<Remembered> {
  const path = `/v1/tasks/${story.id}`;
  const { status, text } = await caller.insist({ method: "GET", path }, [200, 404]);
  const isKnown = status === 200;
  return {
    story,
    text: isKnown ? text : null,
    task: isKnown ? readOf(text) : null,
    posts: posts.get(story.plan.path) ?? [],
    entries: entries.get(story.id) ?? [],
  };
}
