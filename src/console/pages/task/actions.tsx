import { redeliverTask } from "../../../api/tasks/redeliver-task.ts";
import { accepted, taskClient } from "../../../api/tasks/task-client.ts";
import { eraseStored } from "../../../api/tasks/erase-task.ts";
import { may } from "../../../task-object/caller.ts";
import { order } from "../../order.ts";
import { formAction } from "../../page.ts";
import { CloseButton, Dialog, DialogButton } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type ShownTask, taskIdOf, type TaskVisit } from "./data.ts";

interface ActionsProps {
  readonly shown: ShownTask;
  readonly visit: TaskVisit;
}

/** The actions that the viewer may order for a task now, each in a dialog that says what will happen. */
export function TaskActions({ shown, visit: { viewer } }: ActionsProps) {
  const { facts } = shown;
  const isEnded = isEndedTask(shown);
  const isSettled = isEnded && isSettledTask(shown);
  return (
    <>
      {isSettled && facts.callback !== null && may(viewer, "redeliver") ? (
        <SendAgain shown={shown} />
      ) : null}
      {!isEnded && may(viewer, "operate") ? <Cancel shown={shown} /> : null}
      {isSettled && may(viewer, "administer") ? <Erase shown={shown} /> : null}
    </>
  );
}

function isEndedTask({ task: { status } }: ShownTask): boolean {
  return status === "completed" || status === "failed";
}

function isSettledTask({ task: { callback, credits } }: ShownTask): boolean {
  return callback?.status !== "sending" && credits?.state !== "refunding";
}

function SendAgain({ shown: { task } }: Pick<ActionsProps, "shown">) {
  return (
    <>
      <DialogButton opens="send-again" class="button button-main" hotkey="r">
        <Icon name="send" /> Send again
      </DialogButton>
      <Dialog id="send-again" title="Send the callback again">
        <form class="stack-s" method="post" action={`/tasks/${task.id}/redeliver`}>
          <p>
            Starts another series at once, with the same body and the same <code>webhook-id</code>,
            so that a receiver that de-duplicates handles it once. Nothing is charged.
          </p>
          <input type="hidden" name="idempotency_key" value={crypto.randomUUID()} />
          <fieldset class="choice" aria-label="Attempts">
            {[1, 2, 3].map((count) => (
              <label>
                <input type="radio" name="attempts" value={String(count)} checked={count === 1} />
                {count === 1 ? "1 attempt" : `${count} attempts`}
              </label>
            ))}
          </fieldset>
          <label class="field">
            <span>URL, which replaces the task's URL from now on</span>
            <input type="url" name="callback_url" value={task.callback?.url} />
          </label>
          <div class="buttons">
            <CloseButton of="send-again">Close</CloseButton>
            <button class="button button-main" type="submit">
              Send now
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

function Cancel({ shown: { task } }: Pick<ActionsProps, "shown">) {
  const refund =
    task.credits === undefined ? "" : ` ${task.credits.amount} credits are refunded first.`;
  const told = task.callback === null ? "" : " Then its client is told with task.failed.";
  return (
    <>
      <DialogButton opens="cancel" class="button button-bad">
        Cancel
      </DialogButton>
      <Dialog id="cancel" title="Cancel the task">
        <form class="stack-s" method="post" action={`/tasks/${task.id}/cancel`}>
          <p>
            The task fails with the code <code>canceled</code>.{refund}
            {told} The job at the upstream goes on, and its result is ignored.
          </p>
          <div class="buttons">
            <CloseButton of="cancel">Keep it</CloseButton>
            <button class="button button-bad" type="submit">
              Cancel the task
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

function Erase({ shown: { task } }: Pick<ActionsProps, "shown">) {
  return (
    <>
      <DialogButton opens="erase" class="button button-bad">
        Erase
      </DialogButton>
      <Dialog id="erase" title="Erase the task">
        <form class="stack-s" method="post" action={`/tasks/${task.id}/erase`}>
          <p>
            Erases the task with its result, its links and its attempts, here and in the index. It
            cannot be undone. Entries of the ledger stay.
          </p>
          <div class="buttons">
            <CloseButton of="erase">Keep it</CloseButton>
            <button class="button button-bad" type="submit">
              Erase for ever
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

/** Orders a redelivery and redirects to the task. A form that is sent twice orders it only once. */
export const sendAgain = formAction("/tasks/{id}/redeliver", "redeliver", async (visit) => {
  const { form, params } = visit;
  const body = {
    attempts: Number(form.get("attempts") ?? 1),
    callback_url: form.get("callback_url") || null,
  };
  await order(visit, redeliverTask, params, body, form.get("idempotency_key"));
  return leadTo(`/tasks/${taskIdOf(params.id)}`);
});

/** Cancels a task and redirects to it. */
export const cancel = formAction(
  "/tasks/{id}/cancel",
  "operate",
  async ({ env, viewer, params }) => {
    const id = taskIdOf(params.id);
    accepted(await taskClient(env, id).apply({ type: "cancel" }, viewer));
    return leadTo(`/tasks/${id}`);
  },
);

/** Erases a task and redirects to the first page. */
export const erase = formAction("/tasks/{id}/erase", "administer", async (visit) => {
  const { env, runtime, viewer, params } = visit;
  await eraseStored(taskIdOf(params.id), viewer, runtime, env);
  return leadTo("/");
});

function leadTo(path: string): Response {
  return new Response(null, { status: 303, headers: { Location: path } });
}
