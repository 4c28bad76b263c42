import type { Child } from "hono/jsx";
import type { BulkEffects } from "../../api/search/bulk-redelivery.ts";
import { countText } from "../parts/format.ts";
import {
  PACES,
  reasonsText,
  type BulkRedelivery,
  bulkParameters,
  REDELIVERIES,
} from "./bulk-redelivery-state.ts";
import { pathWith } from "../tasks/task-parameters.ts";
import { type Left, BulkRedeliveryResult } from "./bulk-redelivery-result.tsx";

/** Shows how many callbacks would be redelivered, how many tasks would be skipped, and why. */
export function Expected({
  matched,
  skipped,
  skipped_because: because,
  next_cursor: next,
}: BulkEffects) {
  const count = matched - skipped;
  return (
    <>
      <p class="send-count">
        {count === 0 && next === null ? (
          "There is no callback to send."
        ) : (
          <>
            <strong>{countText(count)}</strong> {count === 1 ? "callback" : "callbacks"} will be
            sent once more{next === null ? "." : ", and older ones that are not counted here."}
          </>
        )}
      </p>
      {skipped === 0 ? null : (
        <p class="muted">
          {countText(skipped)} will be skipped: {reasonsText(because)}.
        </p>
      )}
    </>
  );
}

interface StartFormProps {
  readonly filters: URLSearchParams;
  readonly expected: BulkEffects;
  readonly verb: "Send" | "Send all";
  /** Option, true by default: the button is highlighted, because it is the recommended next action. */
  readonly isMain?: boolean;
  readonly children?: Child;
}

/**
 * The form that starts a bulk redelivery. The bulk redelivery sends the callbacks of all tasks that match the
 * filters, in steps.
 */
export function StartForm({ filters, expected, verb, isMain = true, children }: StartFormProps) {
  const count = expected.matched - expected.skipped;
  return (
    <form method="post" action={REDELIVERIES} class="buttons">
      {[...filters].map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <input type="hidden" name="run" value={crypto.randomUUID()} />
      <input type="hidden" name="total" value={String(expected.matched)} />
      <label class="pace">
        <select name="pace" aria-label="Pace">
          {PACES.map((pace) => (
            <option value={String(pace)} selected={pace === 25}>
              {pace} at a time
            </option>
          ))}
        </select>
      </label>
      <button
        type="submit"
        class={`button${isMain ? " button-main" : ""}`}
        data-key="r"
        disabled={count === 0}
      >
        {verb} {countText(count)}
        {expected.next_cursor === null ? "" : "+"} again
      </button>
      {children}
    </form>
  );
}

interface ProgressProps {
  readonly filters: URLSearchParams;
  readonly bulk: BulkRedelivery;
  /**
   * Callbacks that match the filters of the bulk redelivery and are still not delivered at its end; null when they
   * were not counted.
   */
  readonly left: Left | null;
  /**
   * Host to whose page the bulk redelivery links at its end. Null means that the filters name no host, or that the
   * viewer may not see the page of a host.
   */
  readonly host: string | null;
  /**
   * True when the bulk redelivery was started in this browser. Its steps then follow each other without a click.
   */
  readonly isBegun: boolean;
}

/** Shows the progress of a bulk redelivery, with a button to continue it. */
export function Progress({ filters, bulk, left, host, isBegun }: ProgressProps) {
  const skipped = Object.values(bulk.skipped).reduce((sum, count) => sum + count, 0);
  const done = bulk.started + skipped;
  const list = pathWith("/tasks", filters, { callback: null, outcome: null, status_code: null });
  return (
    <div class="card stack-s bulk-redelivery" id="run">
      <progress
        class="progress"
        max={Math.max(bulk.total, done, 1)}
        value={bulk.isDone ? Math.max(bulk.total, done, 1) : done}
        aria-label="Progress"
      />
      <output class="send-count">
        <strong>{countText(bulk.started)}</strong> of {countText(Math.max(bulk.total, done))} sent
        {bulk.isDone ? ". The bulk redelivery is complete." : " …"}
      </output>
      {bulk.waitS === 0 ? null : (
        <p class="tone-warn send-warning">
          The relay takes no further order at the moment. The bulk redelivery goes on after{" "}
          {bulk.waitS} s.
        </p>
      )}
      {skipped === 0 ? null : (
        <p class="muted">
          {countText(skipped)} skipped: {reasonsText(bulk.skipped)}.
        </p>
      )}
      <BulkRedeliveryResult bulk={bulk} left={left} />
      <div class="buttons">
        {bulk.isDone ? (
          <>
            <a class="button button-main" href={list}>
              Show these tasks
            </a>
            {host === null ? null : (
              <a class="button" href={`/hosts/${encodeURIComponent(host)}`}>
                Back to the host
              </a>
            )}
          </>
        ) : (
          <GoOn filters={filters} bulk={bulk} isBegun={isBegun} list={list} />
        )}
      </div>
    </div>
  );
}

type GoOnProps = Pick<ProgressProps, "filters" | "bulk" | "isBegun"> & { readonly list: string };

/**
 * The form of the next step of a bulk redelivery. The state is in the URL of the form and not in its fields. When a
 * rate limit refuses the step, the fields are not read, but the URL still contains the state with which to continue.
 */
function GoOn(props: GoOnProps) {
  const { filters, bulk, isBegun, list } = props;
  return (
    <>
      <form
        method="post"
        action={pathWith(REDELIVERIES, bulkParameters(filters, bulk))}
        {...(isBegun && { "data-step": String(bulk.waitS) })}
      >
        <button type="submit" class="button button-main">
          Go on
        </button>
      </form>
      <a class="button" href={list}>
        Stop
      </a>
    </>
  );
}

interface FilterTextProps {
  readonly filters: URLSearchParams;
  /** Text to show when no filters are set. */
  readonly none: string;
}

/** Describes in one line, by their filters, the tasks whose callbacks are redelivered. */
export function FilterText({ filters, none }: FilterTextProps) {
  const named = [...filters].filter(([name]) => name !== "until" && name !== "since");
  if (named.length === 0) return <>{none}</>;
  return (
    <>
      Tasks with{" "}
      {named.map(([name, value], at) => (
        <>
          {at === 0 ? "" : " · "}
          {name.replace("_", " ")} <strong>{value}</strong>
        </>
      ))}
    </>
  );
}
