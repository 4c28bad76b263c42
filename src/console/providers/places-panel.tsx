import type { ConnectionQueue } from "../../api/health/queue-health.ts";
import { countOf, countText, durationText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Why the numbers of submissions that wait at the members of a pool must not be added up. */
export const POOL_WAITS =
  "A submission to a pool waits at each member, and takes the first free place.";

interface Row extends ConnectionQueue {
  readonly now: number;
}

interface PlacesProps {
  readonly queues: readonly ConnectionQueue[];
  readonly now: number;
}

/**
 * Section about the connections with a limit of jobs in flight, and the members of pools: the places that are taken, who
 * waits, and which cool-downs keep places from being given. Nothing is shown when there are none.
 */
export function PlacesPanel({ queues, now }: PlacesProps) {
  if (queues.length === 0) return null;
  return (
    <Panel
      id="places"
      title="Places for jobs in flight"
      aside={<a href="/tasks?submission=queued">Tasks that wait to be sent</a>}
    >
      <div class="stack-s">
        <Table
          caption="Places of connections, and who waits for them"
          columns={COLUMNS}
          rows={queues.map((queue) => ({ ...queue, now }))}
          rowId={({ connection }) => `places-${connection.name}`}
        />
        <p class="muted small">
          {POOL_WAITS} A free place goes to the account that has the fewest.
        </p>
      </div>
    </Panel>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Connection", cell: ({ connection }) => connection.name },
  { title: "Places taken", cell: (row) => <Places {...row} /> },
  { title: "Waiting", cell: (row) => <Waiting {...row} /> },
  { title: "Who waits", cell: (row) => <Accounts {...row} /> },
  { title: "Cool-down", cell: (row) => <CoolDowns {...row} /> },
];

function Places({ connection: { inFlight }, state: { held } }: Row) {
  if (inFlight === null) return `${countText(held)}, no limit`;
  return (
    <>
      <span class="nowrap">
        {countText(held)} of {countText(inFlight)}
      </span>
      <svg class="places" aria-hidden="true">
        <rect class="places-all" width="100%" height="100%" rx="3" />
        <rect
          class="places-held"
          width={`${Math.min(100, (100 * held) / inFlight)}%`}
          height="100%"
          rx="3"
        />
      </svg>
    </>
  );
}

function Waiting({ state: { waiting, oldestSince, waitMs }, now }: Row) {
  return (
    <>
      {countText(waiting)}
      {oldestSince === null ? null : (
        <>
          , the first came <Ago at={oldestSince} now={now} />
        </>
      )}
      {waitMs === null ? null : (
        <p class="muted small">
          latest waits: <span class="nowrap">median {durationText(waitMs.p50)},</span>{" "}
          <span class="nowrap">99 % {durationText(waitMs.p99)}</span>
        </p>
      )}
    </>
  );
}

function Accounts({ state: { byAccount }, now }: Row) {
  if (byAccount.length === 0) return <span class="muted">nobody</span>;
  return byAccount.map(({ account, held, waiting, oldestSince }) => (
    <>
      <p>
        {account === null ? "operator" : <a href={`/accounts/${account}`}>{account}</a>}:{" "}
        {countText(waiting)}
      </p>
      <p class="muted small">
        first came <Ago at={oldestSince} now={now} />, has {countOf(held, "place")}
      </p>
    </>
  ));
}

function CoolDowns({ state: { coolUntil, outUntil }, now }: Row) {
  if (coolUntil === null && outUntil === null) return <span class="muted">none</span>;
  return (
    <>
      {coolUntil === null ? null : (
        <p>
          Busy, or too many calls: places are given again <Ago at={coolUntil} now={now} /> at the
          latest.
        </p>
      )}
      {outUntil === null ? null : (
        <p>
          Key refused, or no money left there: pools leave it out, and try it again{" "}
          <Ago at={outUntil} now={now} />.
        </p>
      )}
    </>
  );
}
