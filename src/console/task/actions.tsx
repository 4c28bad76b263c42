import { linkOrigin } from "../../api/http/link-origin.ts";
import { type StatusLink, statusLinkOf } from "../../api/tasks/status-url.ts";
import { isOpenStatus } from "../../core/record/callback.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import { may } from "../../objects/task/caller.ts";
import type { FormFault } from "../http/forms.ts";
import { Code } from "../parts/code.tsx";
import { CloseButton, Dialog, DialogButton } from "../parts/dialog.tsx";
import { Field, FormIssue } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Time } from "../parts/shown-time.tsx";
import type { ShownTask, TaskVisit } from "./task-data.ts";

interface ActionsProps {
  readonly shown: ShownTask;
  readonly visit: TaskVisit;
  /** Why the form that was sent was refused, with the typed values; null when none was refused. */
  readonly fault: FormFault | null;
}

/** Id of the dialog that redelivers the callback. */
export const REDELIVER = "redeliver";
/** Ids of the dialogs that a menu opens, because they destroy something. */
const [DELETE_OUTPUTS, ERASE] = ["outputs", "erase"] as const;

/**
 * Buttons for what the viewer may do with a task now, e.g. cancel it or redeliver its callback. Each opens a dialog
 * that says what will happen. What destroys data is in a menu.
 */
export function TaskActions({ shown, visit: { viewer }, fault }: ActionsProps) {
  const { facts } = shown;
  const isEnded = isEndedTask(shown);
  const isSettled = isEnded && isSettledTask(shown);
  return (
    <>
      {isSettled && facts.callback !== null && may(viewer, "redeliver") ? (
        <Redeliver shown={shown} fault={fault} />
      ) : (
        <FormIssue fault={fault} />
      )}
      {!isEnded && may(viewer, "cancel") ? <Cancel shown={shown} viewer={viewer} /> : null}
      <Destructions
        shown={shown}
        isDeletable={isEnded && hasOutputs(shown) && may(viewer, "outputs")}
        isErasable={isSettled && may(viewer, "administer")}
      />
    </>
  );
}

interface DestructionsProps {
  readonly shown: ShownTask;
  /** True when the viewer may delete the outputs now. */
  readonly isDeletable: boolean;
  /** True when the viewer may erase the task now. */
  readonly isErasable: boolean;
}

/** Menu with the buttons that delete something for ever, and their dialogs; empty when the viewer may do nothing of it. */
function Destructions({ shown, isDeletable, isErasable }: DestructionsProps) {
  if (!isDeletable && !isErasable) return null;
  return (
    <>
      <Menu label="More actions" icon="more">
        {isDeletable ? (
          <DialogButton opens={DELETE_OUTPUTS} class="button button-bad">
            Delete outputs
          </DialogButton>
        ) : null}
        {isErasable ? (
          <DialogButton opens={ERASE} class="button button-bad">
            Erase
          </DialogButton>
        ) : null}
      </Menu>
      {isDeletable ? <DeleteOutputsDialog shown={shown} /> : null}
      {isErasable ? <EraseDialog shown={shown} /> : null}
    </>
  );
}

/** Tells whether the task has an output that can be deleted. */
function hasOutputs({ task: { outputs } }: ShownTask): boolean {
  return outputs?.some(({ reason }) => reason !== "own_link" && reason !== "deleted") === true;
}

function isEndedTask({ task: { status } }: ShownTask): boolean {
  return status === "completed" || status === "failed";
}

function isSettledTask({ task: { callback, credits } }: ShownTask): boolean {
  const isReturning = credits?.state === "refunding" || credits?.state === "releasing";
  return !isOpenStatus(callback?.status) && !isReturning;
}

function Redeliver({ shown: { task }, fault }: Pick<ActionsProps, "shown" | "fault">) {
  const hasFailed = task.callback?.status === "failed";
  return (
    <>
      <DialogButton
        opens={REDELIVER}
        class={hasFailed ? "button button-main" : "button"}
        hotkey="r"
      >
        <Icon name="send" /> Send again
      </DialogButton>
      <Dialog id={REDELIVER} title="Send the callback again" isOpen={fault !== null}>
        <form class="stack-s" method="post" action={`/tasks/${task.id}/redeliver`}>
          <p>
            Starts another series at once, with the same body and the same <code>webhook-id</code>,
            so that a receiver that de-duplicates handles it once. Nothing is charged.
          </p>
          <input type="hidden" name="idempotency_key" value={crypto.randomUUID()} />
          <AttemptsChoice wanted={fault?.typed.get("attempts") ?? "1"} />
          <Field
            label="URL, which replaces the task's URL from now on"
            name="callback_url"
            type="url"
            value={task.callback?.url}
            fault={fault}
          />
          <FormIssue fault={fault} />
          <div class="buttons">
            <CloseButton of={REDELIVER}>Close</CloseButton>
            <button class="button button-main" type="submit">
              Send now
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

function AttemptsChoice({ wanted }: { readonly wanted: string }) {
  return (
    <fieldset class="choice" aria-label="Attempts">
      {[1, 2, 3].map((count) => (
        <label>
          <input
            type="radio"
            name="attempts"
            value={String(count)}
            checked={String(count) === wanted}
          />
          {count === 1 ? "1 attempt" : `${count} attempts`}
        </label>
      ))}
    </fieldset>
  );
}

function Cancel({ shown, viewer }: Pick<ActionsProps, "shown"> & Pick<TaskVisit, "viewer">) {
  const { task, facts } = shown;
  const { cancelEffect: effect } = facts;
  if (effect === null) return null;
  const isForceable = effect === "ask" && viewer.kind === "operator" && task.cancel !== undefined;
  return (
    <>
      <DialogButton opens="cancel" class="button button-bad">
        Cancel
      </DialogButton>
      <Dialog id="cancel" title="Cancel the task">
        <form class="stack-s" method="post" action={`/tasks/${task.id}/cancel`}>
          <p>{effect === "ask" ? <AskText task={task} /> : <FailText task={task} />}</p>
          {isForceable ? (
            <p>
              Failing it all the same does not wait for the upstream: a job that runs goes on, and
              its result is ignored.
            </p>
          ) : null}
          <div class="buttons">
            <CloseButton of="cancel">Keep it</CloseButton>
            {isForceable ? (
              <button class="button button-bad" type="submit" name="force" value="true">
                Fail it all the same
              </button>
            ) : null}
            <button class="button button-bad" type="submit">
              Cancel the task
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

/** Says what a cancellation does to a task when the relay can ask the upstream to cancel the job. */
function AskText({ task }: Pick<ShownTask, "task">) {
  return (
    <>
      The upstream is asked to cancel the job. When it confirms, the task fails with the code{" "}
      <code>canceled</code>.{consequencesOf(task)} If the job has ended, its result counts. If the
      upstream refuses or does not answer, the task goes on.
    </>
  );
}

/** Says what a cancellation does to a task when the relay cannot ask the upstream to cancel the job. */
function FailText({ task }: Pick<ShownTask, "task">) {
  return (
    <>
      The task fails with the code <code>canceled</code>.{consequencesOf(task)} The relay cannot
      cancel a job of this task at an upstream: one that runs goes on, and its result is ignored.
    </>
  );
}

function consequencesOf({ credits, callback }: ShownTask["task"]): string {
  const refund = credits === undefined ? "" : ` ${credits.amount} credits are refunded first.`;
  const told = callback === null ? "" : " Then its client is told with task.failed.";
  return refund + told;
}

function DeleteOutputsDialog({ shown: { task } }: Pick<ActionsProps, "shown">) {
  return (
    <FormDialog
      id={DELETE_OUTPUTS}
      title="Delete the outputs"
      action={`/tasks/${task.id}/outputs`}
      send="Delete the outputs"
      keep="Keep them"
      isFinal
    >
      <p>
        Deletes the relay's copies, and closes its links to them for everyone, also for whoever has
        the callback. It cannot be undone. The task stays, and so does what the upstream itself
        still has.
      </p>
    </FormDialog>
  );
}

function EraseDialog({ shown: { task } }: Pick<ActionsProps, "shown">) {
  return (
    <FormDialog
      id={ERASE}
      title="Erase the task"
      action={`/tasks/${task.id}/erase`}
      send="Erase for ever"
      keep="Keep it"
      isFinal
    >
      <p>
        Erases the task with its result, its links and its attempts, here and in the index. It
        cannot be undone. Entries of the ledger stay.
      </p>
    </FormDialog>
  );
}

const ID = "share";

/** Returns the status link of a task: the one that its registration returned or, when that has expired, a new one. */
export function shareLinkOf(
  { task: { id, created_at: createdAtS }, facts }: ShownTask,
  { runtime, env, request }: TaskVisit,
): Promise<StatusLink> {
  const { statedDeadlineAt, recordedAt } = facts;
  const deadlineAtS = statedDeadlineAt === null ? null : toSeconds(statedDeadlineAt);
  const linked = { id, createdAtS, recordedAt, deadlineAtS };
  return statusLinkOf(linked, runtime, linkOrigin(env, request));
}

/** A button that opens a dialog with the status link of a task, which can be given to somebody who has no login. */
export function Share({ link: { url, expiresAtS } }: { readonly link: StatusLink }) {
  return (
    <>
      <DialogButton opens={ID} class="button needs-script">
        <Icon name="arrow" />
        Share
      </DialogButton>
      <Dialog id={ID} title="Share the status">
        <div class="stack-s">
          <p>
            Whoever has this link sees the status, the model and the result of this task, and
            whether its callback was delivered, without a login. It works until{" "}
            <Time at={expiresAtS * SECOND_MS} /> and cannot be withdrawn before.
          </p>
          <Code text={url} what="the status link" />
          <p class="small muted">
            Browsers show it as a page; programs get JSON, also from pages of other sites.
          </p>
          <div class="buttons">
            <a class="button button-plain" href={url} target="_blank" rel="noreferrer">
              Open the page
            </a>
            <CloseButton of={ID}>Close</CloseButton>
          </div>
        </div>
      </Dialog>
    </>
  );
}
