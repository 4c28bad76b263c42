import type { Child } from "hono/jsx";
import type { BulkEffects } from "../../api/search/redeliver-many.ts";
import { countText } from "../format.ts";
import { PACES, reasonsText, type Run, runParameters, SEND_AGAIN } from "../send-again.ts";
import { pathWith } from "../task-parameters.ts";
import { type Left, RunResult } from "./run-result.tsx";

/** Numbers of callbacks, according to the rows of the index, that would be sent again and skipped. */

/** Shows how many callbacks would be sent again, and how many tasks would be skipped for which reasons. */
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
  /** States that the button is highlighted as the next thing to do. */
  readonly isMain?: boolean;
  readonly children?: Child;
}

/** The form that starts a run, which sends the callbacks of all tasks with these filters again in steps. */
export function StartForm({ filters, expected, verb, isMain = true, children }: StartFormProps) {
  const count = expected.matched - expected.skipped;
  return (
    <form method="post" action={SEND_AGAIN} class="buttons">
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
  readonly run: Run;
  /**
   * Callbacks that match the filters of a run (sending many callbacks again) and are still not delivered
   * after it; null when they were not counted.
   */
  readonly left: Left | null;
  /**
   * Host to whose page a run (sending many callbacks again) links at its end; null when the filters of the
   * run name no host, or the viewer may not see that page.
   */
  readonly host: string | null;
  /**
   * States that the run (sending many callbacks again in steps) was started in this browser, so that its steps
   * follow each other without a click.
   */
  readonly isBegun: boolean;
}

/** Shows how far a run (sending many callbacks again in steps) has come, with a button to continue it. */
export function Progress({ filters, run, left, host, isBegun }: ProgressProps) {
  const skipped = Object.values(run.skipped).reduce((sum, count) => sum + count, 0);
  const done = run.started + skipped;
  const list = pathWith("/tasks", filters, { callback: null, outcome: null, status_code: null });
  return (
    <div class="card stack-s send-again" id="run">
      <progress
        class="progress"
        max={Math.max(run.total, done, 1)}
        value={run.isDone ? Math.max(run.total, done, 1) : done}
        aria-label="Progress"
      />
      <output class="send-count">
        <strong>{countText(run.started)}</strong> of {countText(Math.max(run.total, done))} sent
        {run.isDone ? ". The run is complete." : " …"}
      </output>
      {run.waitS === 0 ? null : (
        <p class="tone-warn send-warning">
          The relay takes no further order at the moment. The run goes on after {run.waitS} s.
        </p>
      )}
      {skipped === 0 ? null : (
        <p class="muted">
          {countText(skipped)} skipped: {reasonsText(run.skipped)}.
        </p>
      )}
      <RunResult run={run} left={left} />
      <div class="buttons">
        {run.isDone ? (
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
          <GoOn filters={filters} run={run} isBegun={isBegun} list={list} />
        )}
      </div>
    </div>
  );
}

type GoOnProps = Pick<ProgressProps, "filters" | "run" | "isBegun"> & { readonly list: string };

/**
 * The form of the next step of a run (sending many callbacks again). The state is in its URL and not in its
 * fields, so that a step that a rate limit refuses, whose fields are not read, can be held and continued.
 */
function GoOn(props: GoOnProps) {
  const { filters, run, isBegun, list } = props;
  return (
    <>
      <form
        method="post"
        action={pathWith(SEND_AGAIN, runParameters(filters, run))}
        {...(isBegun && { "data-step": String(run.waitS) })}
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

/** Describes in one line, by their filters, the tasks whose callbacks are sent again. */
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
