import type { Child } from "hono/jsx";
import { TaskId } from "../../api/http/fields.ts";
import { invalidRequest, Problem } from "../../api/http/problem.ts";
import { countRequest } from "../../api/http/rate-limit.ts";
import {
  type BulkEffects,
  countRedeliveries,
  MAX_SELECTED,
  redeliverMany,
  redeliverSelected,
} from "../../api/callbacks/bulk-redelivery.ts";
import { HOUR_MS } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import { may } from "../../objects/task/caller.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { countText } from "../parts/format.ts";
import { PageHead } from "../parts/page-head.tsx";
import { cookieHeader, cookieOf } from "../session/cookie.ts";
import { pathWith, taskParameters } from "../tasks/task-parameters.ts";
import {
  advanced,
  bulkParameters,
  type BulkRedelivery,
  filtersIn,
  MAX_COUNTED,
  newBulkRedelivery,
  PACES,
  readBulkRedelivery,
  reasonsText,
  REDELIVERIES,
} from "./bulk-redelivery-state.ts";

/**
 * After a bulk redelivery has ended, failed callbacks are counted up to this number, and so are callbacks that are
 * being sent.
 */
const MAX_LEFT = 1_000;
/**
 * Time in milliseconds after the last step of a bulk redelivery within which the browser that started it takes the next
 * step by itself. Later, the next step needs a click.
 */
const BEGUN_MS = HOUR_MS;

/**
 * The page of a bulk redelivery of the callbacks of all tasks in a list. Before it starts, the page shows how many
 * callbacks there are; afterwards, how many have been sent.
 */
export const bulkRedeliveryPage = viewerPage(
  "bulkRedeliveryPage",
  REDELIVERIES,
  "redeliver",
  async (visit) => {
    const bulk = readBulkRedelivery(visit.url.searchParams);
    if (bulk !== null) return progressPage(visit, bulk);
    const now = Date.now();
    const filters = filtersIn(taskParameters(visit.url.searchParams, now));
    // Tasks that are created from now on are left out, because they are not counted here.
    if (!filters.has("until")) filters.set("until", String(Math.floor(now / 1000) + 1));
    const expected = await counted(visit, filters, MAX_COUNTED);
    const back = pathWith("/tasks", filters, { until: null });
    return html(
      <Layout title="Send again" frame={frameOf(visit)} section="tasks">
        <div class="bulk-redelivery" data-dialog-content="">
          <PageHead
            title="Send callbacks again"
            sub={<FilterText filters={filters} none="All tasks of the index" />}
          />
          <div class="card stack-s">
            <Expected {...expected} />
            {filters.get("callback") === "failed" ? null : (
              <p class="tone-warn send-warning">
                The list is not limited to failed callbacks: delivered ones are sent again too.
              </p>
            )}
            <StartForm filters={filters} expected={expected} verb="Send">
              <a class="button" href={back} data-close="">
                Not now
              </a>
            </StartForm>
            <p class="muted small">
              Each keeps its <code>webhook-id</code>, so that a receiver can tell what it has
              handled. An interrupted bulk redelivery continues where it stopped and sends nothing
              twice.
            </p>
          </div>
        </div>
      </Layout>,
    );
  },
);

/**
 * Takes the next step of a bulk redelivery, and redirects to the page that shows its progress. A cookie marks the
 * browser in which the bulk redelivery was started. Someone who only follows a link to the progress page does not have
 * this cookie, so there the bulk redelivery goes on only with a click.
 */
export const bulkRedeliveryStep = formAction(
  "bulkRedeliveryStep",
  REDELIVERIES,
  "redeliver",
  async (visit) => {
    const { form, url } = visit;
    // The form that starts a bulk redelivery has the state in its fields, every further one in its URL.
    const state = url.searchParams.has("run") ? url.searchParams : form;
    const bulk = readBulkRedelivery(state);
    if (bulk === null) throw invalidRequest([{ path: "/run", message: "is required" }]);
    const filters = filtersIn(state);
    return stepAnswer(visit, filters, await orderedOrHeld(visit, filters, bulk));
  },
  {
    // A page of a bulk redelivery is a tenth of the tasks that one request to the API may name, so a step counts
    // under the higher limit.
    rateLimit: "LIMIT_LISTS",
    onLimit: (visit, problem) => {
      const { searchParams: state } = visit.url;
      const bulk = readBulkRedelivery(state);
      if (bulk === null || bulk.isDone) throw problem;
      return stepAnswer(visit, filtersIn(state), held(bulk, problem));
    },
  },
);

/** Returns the redirect, after a step of a bulk redelivery, to the page that shows its progress. */
function stepAnswer(
  { request }: ViewerVisit,
  filters: URLSearchParams,
  after: BulkRedelivery,
): Response {
  const location = pathWith(REDELIVERIES, bulkParameters(filters, after));
  const keptMs = after.isDone ? 0 : BEGUN_MS;
  const cookie = cookieHeader(request, begunName(after), "1", keptMs);
  return seeOther(location, { "Set-Cookie": cookie });
}

/** Redelivers the callbacks of the tasks that were selected in a list, and redirects to the page with the result. */
export const redeliverSelectedForm = formAction(
  "redeliverSelectedForm",
  "/redeliveries/selected",
  "redeliver",
  async (visit) => {
    const { form, viewer } = visit;
    const id = readBulkRedelivery(form)?.id;
    const ids = form.getAll("id").filter((each) => TaskId.safeParse(each).success);
    if (id === undefined) throw invalidRequest([{ path: "/run", message: "is required" }]);
    const body = { ids: ids.slice(0, MAX_SELECTED) };
    const given = { params: {}, body, idempotencyKey: id };
    const effects = await redeliverSelected.perform(given, viewer, visit);
    const bulk = advanced(newBulkRedelivery(id, effects.matched), {
      ...effects,
      next_cursor: null,
    });
    const location = pathWith(REDELIVERIES, bulkParameters(new URLSearchParams(), bulk));
    return seeOther(location);
  },
  { rateLimit: "LIMIT_BULK" },
);

/**
 * Orders the redeliveries of the next step of a bulk redelivery.
 * @returns the state after this step; after a temporary refusal, e.g. because the index does not respond, it says after
 * how many seconds the step can be repeated. The state of a bulk redelivery that has ended is returned unchanged.
 */
async function orderedOrHeld(
  visit: ViewerVisit,
  filters: URLSearchParams,
  bulk: BulkRedelivery,
): Promise<BulkRedelivery> {
  if (bulk.isDone) return bulk;
  const cursor = bulk.cursor === "" ? {} : { cursor: bulk.cursor };
  const query = { ...pageQuery(filters, bulk.pace), ...cursor };
  try {
    const given = { params: {}, query, idempotencyKey: bulk.id };
    return advanced(bulk, await redeliverMany.perform(given, visit.viewer, alreadyCounted(visit)));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return held(bulk, error);
  }
}

/**
 * Returns the state of a bulk redelivery whose step was temporarily refused, with the time to wait before the step is
 * repeated.
 * @throws Problem the refusal itself, when it states no time to wait.
 */
function held(bulk: BulkRedelivery, refusal: Problem): BulkRedelivery {
  const waitS = Number(refusal.details.headers?.["Retry-After"]);
  if (!(waitS > 0)) throw refusal;
  return { ...bulk, waitS };
}

/** Returns the query for one page of the list of tasks whose callbacks are to be redelivered or counted. */
function pageQuery(filters: URLSearchParams, limit: number) {
  return { ...Object.fromEntries(filters), limit: String(limit) };
}

/**
 * Counts, for one page of a list of tasks, how many callbacks a bulk redelivery would send and how many it would skip.
 */
async function counted(visit: ViewerVisit, filters: URLSearchParams, limit: number) {
  const given = { params: {}, query: pageQuery(filters, limit) };
  return countRedeliveries.perform(given, visit.viewer, visit);
}

/**
 * Returns a copy of a visit for a call that `LIMIT_BULK` does not count, because `LIMIT_LISTS` has counted the visit.
 */
function alreadyCounted(visit: ViewerVisit): ViewerVisit {
  return { ...visit, counted: "LIMIT_BULK" };
}

/** Returns the name of the cookie that marks the browser in which a bulk redelivery was started. */
function begunName({ id }: BulkRedelivery): string {
  return `task-relay-run-${id}`;
}

/**
 * Returns how many callbacks are still undelivered after a bulk redelivery of failed callbacks: those that match its
 * filters and have failed or are being sent.
 * @returns null when the bulk redelivery has not ended, when it was not for failed callbacks, or when counting was
 * refused, e.g. by a rate limit.
 */
async function leftAfter(
  visit: ViewerVisit,
  filters: URLSearchParams,
  bulk: BulkRedelivery,
): Promise<Left | null> {
  if (!bulk.isDone || filters.get("callback") !== "failed") return null;
  const sending = new URLSearchParams(filters);
  sending.set("callback", "open");
  try {
    await countRequest("LIMIT_LISTS", visit.viewer, visit.env);
    const [ofFailed, ofSending] = await Promise.all(
      [filters, sending].map((asked) => counted(alreadyCounted(visit), asked, MAX_LEFT)),
    );
    return { failed: ofFailed?.matched ?? 0, sending: ofSending?.matched ?? 0 };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return null;
  }
}

async function progressPage(visit: ViewerVisit, bulk: BulkRedelivery): Promise<Response> {
  const filters = filtersIn(visit.url.searchParams);
  const host = may(visit.viewer, "inspect") ? filters.get("host") : null;
  const left = await leftAfter(visit, filters, bulk);
  const isBegun = cookieOf(visit.request, begunName(bulk)) !== null;
  const none = bulk.isDone ? "The selected tasks" : "All tasks of the index";
  return html(
    <Layout title="Sending again" frame={frameOf(visit)} section="tasks" isLive={isAnyLeft(left)}>
      <PageHead
        title={bulk.isDone ? "Callbacks were sent again" : "Sending callbacks again"}
        sub={<FilterText filters={filters} none={none} />}
      />
      <Progress filters={filters} bulk={bulk} left={left} host={host} isBegun={isBegun} />
    </Layout>,
  );
}

/** Shows how many callbacks would be redelivered, how many tasks would be skipped, and why. */
function Expected({ matched, skipped, skipped_because: because, next_cursor: next }: BulkEffects) {
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
  /** True (also when absent) to highlight the button, because it is the recommended next action. */
  readonly isMain?: boolean;
  readonly children?: Child;
}

/**
 * The form that starts a bulk redelivery, which sends the callbacks of all tasks that match the filters, a number of
 * them at a time.
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
   * Callbacks that match the filters of the bulk redelivery and are still undelivered at its end; null when they were
   * not counted.
   */
  readonly left: Left | null;
  /**
   * Host to whose page the bulk redelivery links at its end. Null when the filters name no host, or when the viewer may
   * not see pages of hosts.
   */
  readonly host: string | null;
  /** True when the bulk redelivery was started in this browser, so that its steps follow each other without a click. */
  readonly isBegun: boolean;
}

/** Shows the progress of a bulk redelivery, with a button to continue it. */
function Progress({ filters, bulk, left, host, isBegun }: ProgressProps) {
  const skipped = sum(Object.values(bulk.skipped));
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
 * The form of the next step of a bulk redelivery. The state is in the form's URL and not in its fields, so that it is
 * known even when a rate limit refuses the step before the fields are read.
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
  /** Text that is shown instead of the filters when there are none. */
  readonly none: string;
}

/** Lists in one line the filters of the tasks whose callbacks are to be redelivered. */
function FilterText({ filters, none }: FilterTextProps) {
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

/** Seconds between two counts of the undelivered callbacks. The page counts again until there are none. */
const REFRESH_S = 5;

/** Numbers of callbacks that match the filters of a bulk redelivery and have failed or are being sent. */
interface Left {
  readonly failed: number;
  readonly sending: number;
}

interface BulkRedeliveryResultProps {
  readonly bulk: BulkRedelivery;
  /**
   * Callbacks that match the filters of the bulk redelivery and are still undelivered at its end; null when they were
   * not counted.
   */
  readonly left: Left | null;
}

/** Tells whether callbacks of a bulk redelivery have failed again or are still being sent. */
function isAnyLeft(left: Left | null): boolean {
  return left !== null && left.failed + left.sending > 0;
}

/**
 * Says at the end of a bulk redelivery how many of its callbacks are still undelivered, and that none was sent twice.
 */
function BulkRedeliveryResult({ bulk, left }: BulkRedeliveryResultProps) {
  if (!bulk.isDone) return null;
  const isLeft = isAnyLeft(left);
  return (
    <div class="stack-s" id="result" {...(isLeft && { "data-refresh": String(REFRESH_S) })}>
      {left === null ? null : (
        <p class={isLeft ? "tone-warn send-warning" : ""}>
          {isLeft
            ? `${countText(left.failed)} failed and ${countText(left.sending)} being sent in this list at present. The index is a few seconds behind.`
            : "No callback of this list is failed or being sent any more."}
        </p>
      )}
      <p class="muted small">
        A bulk redelivery sends no callback twice, and reloading this page sends nothing.
      </p>
    </div>
  );
}
