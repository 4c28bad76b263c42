import type { PropsWithChildren } from "hono/jsx";
import type { BulkEffects } from "../../api/search/bulk-redelivery.ts";
import type { Tested } from "../../api/test-callback.ts";
import { countText, durationText } from "../parts/format.ts";
import type { FormFault } from "../http/form-fault.ts";
import type { TaskCallback } from "../../api/shapes/task-shape.ts";
import { Status } from "../parts/chip.tsx";
import { described, FormIssue, Issue } from "../parts/field.tsx";
import { Panel } from "../parts/page-head.tsx";
import { reasonsText } from "../bulk-redelivery/bulk-redelivery-state.ts";
import { StartForm } from "../bulk-redelivery/bulk-redelivery-parts.tsx";

/** Id of the form of the first step, which sends a test callback. */
export const TEST = "test";
/** Id of the form of the second step, which redelivers one failed callback. */
export const ONE = "one";
const URL_FIELD = "callback_url";

/**
 * Data of the three steps that bring callbacks to a failing host again: send a test, redeliver one failed callback,
 * redeliver all. They contain the results of the steps that were already taken.
 */
export interface Steps {
  readonly host: string;
  /** URL to which a test callback is sent; empty when no URL is known. */
  readonly url: string;
  /** Id of the task whose failed callback the second step redelivers; null when no such task is known. */
  readonly task: string | null;
  /** Number of failed callbacks to the host. */
  readonly failed: number;
  readonly tested: Tested | null;
  readonly sent: { readonly id: string; readonly callback: TaskCallback | null } | null;
  /** Reason why the form of a step that the viewer has just sent was refused; null when none was refused. */
  readonly fault: FormFault | null;
  /**
   * Numbers of callbacks that would be sent and skipped if all failed callbacks were redelivered. Null means that
   * they were not counted, because no redelivery of a single callback has succeeded yet.
   */
  readonly expected: BulkEffects | null;
}

/**
 * Section with three steps: send a test callback, redeliver one failed callback, redeliver all failed callbacks. The
 * button of the recommended next step is highlighted.
 */
export function HostSteps(steps: Steps) {
  const { tested, sent, task, fault } = steps;
  const isTested = tested?.outcome === "delivered" || sent !== null;
  const isSent = sent?.callback?.status === "delivered";
  return (
    <Panel title="Deliver again">
      <ol class="steps">
        <Step title="Send a test" text="One callback of a sample task: does the receiver take it?">
          <TestForm {...steps} isNext={!isTested} />
          {tested === null ? null : <TestResult {...tested} />}
        </Step>
        <Step title="Send one again" text="One failed callback, as it was: does it arrive?">
          <form method="post" action={`${pathOf(steps.host)}/one`} class="step-form">
            <input type="hidden" name="task" value={task ?? ""} />
            <input type="hidden" name="run" value={crypto.randomUUID()} />
            <StepButton
              label="Send one again"
              isNext={isTested && !isSent}
              isDisabled={task === null}
            />
          </form>
          <FormIssue fault={fault?.form === ONE ? fault : null} />
          {sent === null ? null : <SentResult {...sent} />}
        </Step>
        <Step title="Send all again" text="Counted first. A reload sends nothing twice.">
          <RedeliverAll {...steps} isNext={isSent} />
        </Step>
      </ol>
    </Panel>
  );
}

function Step(props: PropsWithChildren<{ readonly title: string; readonly text: string }>) {
  return (
    <li class="step">
      <h3>{props.title}</h3>
      <p class="muted small">{props.text}</p>
      {props.children}
    </li>
  );
}

function TestForm({ host, url, fault, isNext }: Steps & { readonly isNext: boolean }) {
  const issue = fault?.issues.get(URL_FIELD);
  return (
    <>
      <form method="post" action={`${pathOf(host)}/test`} class="step-form">
        <input
          type="url"
          name={URL_FIELD}
          aria-label="URL of the receiver"
          value={url}
          required
          {...described(URL_FIELD, issue, undefined)}
        />
        <StepButton label="Send a test" isNext={isNext} />
      </form>
      <Issue id={URL_FIELD} issue={issue} />
      <FormIssue fault={fault?.form === TEST ? fault : null} />
    </>
  );
}

function pathOf(host: string): string {
  return `/hosts/${encodeURIComponent(host)}`;
}

function StepButton(props: {
  readonly label: string;
  readonly isNext: boolean;
  readonly isDisabled?: boolean;
}) {
  const { label, isNext, isDisabled = false } = props;
  return (
    <button type="submit" class={`button${isNext ? " button-main" : ""}`} disabled={isDisabled}>
      {label}
    </button>
  );
}

function TestResult({ outcome, status_code: code, duration_ms: ms, cause }: Tested) {
  return (
    <output class="state">
      <Status of={outcome} /> {code ?? cause ?? ""} in {durationText(ms)}
    </output>
  );
}

function SentResult({ id, callback }: NonNullable<Steps["sent"]>) {
  const last = callback?.attempts.at(-1);
  return (
    <output class="state">
      <Status of={callback?.status ?? "waiting"} /> {last?.status_code ?? last?.outcome ?? ""}{" "}
      <a href={`/tasks/${id}`}>Open the task</a>
    </output>
  );
}

function RedeliverAll({ host, failed, expected, isNext }: Steps & { readonly isNext: boolean }) {
  const filters = new URLSearchParams({ callback: "failed", host });
  if (expected === null && failed === 0) return <p class="muted">No failed callback is left.</p>;
  if (expected === null) {
    return (
      <div class="buttons">
        <a class="button" href={`/redeliveries?${filters.toString()}`} data-dialog="">
          Send all {countText(failed)} again…
        </a>
      </div>
    );
  }
  if (expected.matched === 0) return <p class="muted">No failed callback is left.</p>;
  filters.set("until", String(Math.floor(Date.now() / 1000) + 1));
  return (
    <>
      <StartForm filters={filters} expected={expected} verb="Send all" isMain={isNext} />
      <p class="muted small">
        {expected.skipped === 0
          ? "None will be skipped."
          : `${countText(expected.skipped)} will be skipped: ${reasonsText(expected.skipped_because)}.`}
      </p>
    </>
  );
}
