import type { Config } from "../../config/config.ts";
import { isOpenStatus } from "../../core/record/callback.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { maxIndexBytes } from "../../index-db/limits.ts";
import { failedCallbacks, nextTasks } from "../../index-db/troubled-tasks.ts";
import { countCopies } from "../../index-db/open-copies.ts";
import { unknownSubmissions } from "../../index-db/unknown-submissions.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { connectionsOf, poolsOf } from "../health/connection-health.ts";
import { presentPauses } from "../hosts/paused-hosts.ts";
import { json } from "../http/answer.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { failedOfDay } from "./failing-hosts.ts";
import { queryIndex } from "./query-index.ts";
import { countUnsettled, openTasks } from "./read-open.ts";
import { recentCounts } from "./recent-counts.ts";
import { isProbablyRefunding } from "./troubles/task-rules.ts";
import type { Facts, IndexFacts } from "./troubles/trouble.ts";
import { troublesOf } from "./troubles/troubles.ts";

/**
 * Time in milliseconds for which the problems that were found last are kept in memory, because several open pages may
 * ask for them.
 */
const KEEP_MS = 10 * SECOND_MS;
/**
 * To find problems, at most this many tasks with a failed callback are read from the index, and at most this many
 * unsettled tasks (without a result, or with a callback or refund still under way). D1 bills two rows for each.
 */
const MAX_TASKS = 110;
/** Tasks of which it is unknown whether their submission has started a job are counted up to this number. */
const MAX_UNKNOWN = 50;
/** Tasks whose outputs are being copied are counted up to this number. */
const MAX_COPYING = 50;

/** Result of the last search for problems. It is shared by all callers, because only operators may ask for it. */
const recent = new EnvCache<Present>(() => KEEP_MS);

interface Present {
  /** The problems, in the form in which `GET /v1/problems` answers. */
  readonly view: ReturnType<typeof viewOf>;
  /** Number of callbacks that have failed for good within the last day; null when the relay has no index. */
  readonly failedOfDay: ReturnType<typeof failedOfDay> | null;
  readonly places: readonly PlacesOfConnection[];
}

/** Places of a connection with a limit of jobs in flight, or of a member of a pool, and the submissions that wait. */
export interface PlacesOfConnection {
  readonly connection: string;
  readonly isPoolMember: boolean;
  /** Limit of the connection; null when it has none. */
  readonly inFlight: number | null;
  readonly held: number;
  readonly waiting: number;
  /** Time since which the first of them has waited, in Unix seconds; null when none waits. */
  readonly waitingSince: number | null;
}

/** Reads the present problems of the relay, and how many of its tasks are under way. */
const readProblems = operation(
  "readProblems",
  { access: "inspect", query: NoQuery, body: NoBody },
  async ({ env, runtime: { config } }) => await problemsView(env, config),
);

/**
 * Reads what `readProblems` reads, but not the numbers of open tasks per connection, which cost more rows. Reads also how
 * many callbacks have failed within the last day, and the places of connections, which the search for problems knows.
 * Only the console uses this operation, for its overview, which is refreshed often.
 */
export const readPresentProblems = operation(
  "readPresentProblems",
  { access: "inspect", query: NoQuery, body: NoBody },
  async ({ env, runtime: { config } }) => {
    const { view, ...rest } = await presentProblems(env, config);
    return { ...view, ...rest };
  },
);

export const readProblemsRoute = routeOf(
  { method: "GET", path: "/v1/problems" },
  readProblems,
  (problems) => json(problems),
);

/**
 * Returns the present problems of the relay, e.g. a host that takes no callbacks, and several numbers of tasks:
 * unsettled tasks (without a result, or with a callback or refund still under way), overdue tasks (which should have
 * changed by now), tasks whose callback is being sent, and tasks whose refund is not confirmed yet.
 */
async function presentProblems(env: Env, config: Config): Promise<Present> {
  return await recent.get(env, async (now) => {
    const connections = connectionsOf(config, env);
    const facts = await factsOf(env, config, connections, now);
    return {
      view: viewOf(facts),
      failedOfDay: facts.index === null ? null : failedOfDay(facts.index, now),
      places: placesOf(await connections, membersOf(config)),
    };
  });
}

/**
 * Returns the body of the response to `GET /v1/problems`: the present problems, and the number of open tasks of each
 * connection.
 */
async function problemsView(env: Env, config: Config) {
  const [{ view }, open] = await Promise.all([
    presentProblems(env, config),
    openTasks(env, config),
  ]);
  return { ...view, now: view.now === null ? null : { ...view.now, open } };
}

/** Returns the names of the connections that are members of pools. */
function membersOf(config: Config): ReadonlySet<string> {
  return new Set(Object.values(poolsOf(config)).flatMap(({ of }) => of));
}

function placesOf(
  connections: Awaited<ReturnType<typeof connectionsOf>>,
  members: ReadonlySet<string>,
): readonly PlacesOfConnection[] {
  return Object.entries(connections).flatMap(([connection, { places, in_flight: inFlight }]) =>
    places === undefined
      ? []
      : [
          {
            connection,
            isPoolMember: members.has(connection),
            inFlight: inFlight ?? null,
            held: places.held,
            waiting: places.waiting,
            waitingSince: places.oldest_since ?? null,
          },
        ],
  );
}

async function factsOf(
  env: Env,
  config: Config,
  asked: ReturnType<typeof connectionsOf>,
  now: number,
): Promise<Facts> {
  const [connections, pausedHosts, index] = await Promise.all([
    asked,
    presentPauses(env),
    indexFacts(env, config, now),
  ]);
  const members = membersOf(config);
  return {
    now,
    isPaused: config.paused,
    maxIndexBytes: maxIndexBytes(config),
    pausedHosts: pausedHosts ?? [],
    warnings: env.startup.warnings,
    connections: Object.entries(connections).map(([name, state]) => ({
      name,
      isPoolMember: members.has(name),
      keyRefusedAt: "refused_at" in state ? state.refused_at : null,
      fundsRefusedAt: "funds_refused_at" in state ? (state.funds_refused_at ?? null) : null,
      areHooksMissing: "hooks" in state,
      unclearAt: "unclear" in state ? (state.unclear?.at ?? null) : null,
      waiting: state.places?.waiting ?? 0,
      waitingSince: state.places?.oldest_since ?? null,
    })),
    index,
  };
}

async function indexFacts(env: Env, config: Config, now: number): Promise<IndexFacts | null> {
  const shards = shardsOf(env, config);
  if (shards === null) return null;
  const [counts, failed, next, open, unknown, copies] = await queryIndex(() =>
    Promise.all([
      recentCounts(env, shards, now),
      failedCallbacks(shards, MAX_TASKS),
      nextTasks(shards, MAX_TASKS),
      countUnsettled(shards, now),
      unknownSubmissions(shards, MAX_UNKNOWN, now),
      countCopies(shards, MAX_COPYING, now),
    ]),
  );
  return { counts, failed, next, open, unknown, copies };
}

function viewOf(facts: Facts) {
  return {
    at: toSeconds(facts.now),
    data: troublesOf(facts),
    now: facts.index === null ? null : nowView(facts.index, facts.now),
  };
}

/**
 * Returns how many tasks are unsettled (without a result, or with a callback or refund still under way) and, of these,
 * how many are overdue, are sending their callback, or wait for their refund. `is_capped` next to a count says that
 * there may be more tasks.
 */
function nowView({ open, next }: IndexFacts, now: number) {
  const sending = next.tasks.filter(
    (task) => isOpenStatus(task.callback) && !isProbablyRefunding(task, now),
  );
  const refunding = next.tasks.filter((task) => isProbablyRefunding(task, now));
  return {
    unsettled: counted(open.tasks, open.isCapped),
    oldest_at: open.oldestAt === null ? null : toSeconds(open.oldestAt),
    overdue: counted(open.overdue, open.isCapped && open.overdue === open.tasks),
    sending: counted(sending.length, next.isCapped),
    refunding: counted(refunding.length, next.isCapped),
  };
}

function counted(count: number, isCapped: boolean) {
  return { count, is_capped: isCapped };
}
