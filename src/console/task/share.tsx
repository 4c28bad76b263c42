import { linkOrigin } from "../../api/http/link-origin.ts";
import { statusLinkOf, type StatusLink } from "../../api/tasks/status-url.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import { Code } from "../parts/code.tsx";
import { CloseButton, Dialog, DialogButton } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/shown-time.tsx";
import type { ShownTask, TaskVisit } from "./task-data.ts";

const ID = "share";

/**
 * Returns the status link of a task. Until it expires, it is the same link as in the answer to the registration of
 * the task.
 */
export function shareLinkOf(
  { task: { id, created_at: createdAtS }, facts }: ShownTask,
  { runtime, env, request }: TaskVisit,
): Promise<StatusLink> {
  const { statedDeadlineAt = null, recordedAt = null } = facts;
  const deadlineAtS = statedDeadlineAt === null ? null : toSeconds(statedDeadlineAt);
  const linked = { id, createdAtS, recordedAt, deadlineAtS };
  return statusLinkOf(linked, runtime, linkOrigin(env, request));
}

/**
 * A button that opens a dialog with the status link of a task. The link can be given to somebody who has no login.
 */
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
