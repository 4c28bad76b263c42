import { HOUR_MS, SECOND_MS, toSeconds } from "../../core/time.ts";
import type { FormFault } from "../http/forms.ts";
import { DialogButton } from "../parts/dialog.tsx";
import { Select } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";

/** Id of the dialog that pauses a host. */
export const PAUSE = "pause";
export const HOURS = "hours";

/** Lengths of a pause that can be chosen, in hours. */
const LENGTHS = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "24 hours"],
  ["168", "7 days"],
] as const;
const DEFAULT_HOURS = "24";

/** Returns the end of a pause as a form has ordered it at `now` (Unix milliseconds), in Unix seconds. */
export function endIn(form: URLSearchParams, now: number): number {
  const hours = form.get(HOURS) ?? "";
  const known = LENGTHS.some(([length]) => length === hours) ? hours : DEFAULT_HOURS;
  return toSeconds(now + Number(known) * HOUR_MS);
}

export interface PauseProps {
  readonly host: string;
  /** Path of the host's page. */
  readonly path: string;
  /** End of the host's pause, in Unix seconds; null when it is not paused. */
  readonly until: number | null;
  /** Path of the page that is shown after the change. Absent for the host's page. */
  readonly returnTo?: string;
}

/** Name of the field with the path of the page that is shown after a pause has begun or ended. */
export const RETURN_TO = "return_to";

function ReturnTo({ returnTo }: { readonly returnTo: string | undefined }) {
  return returnTo === undefined ? null : <input type="hidden" name={RETURN_TO} value={returnTo} />;
}

/** Button that opens the dialog which pauses a host. */
export function PauseButton() {
  return <DialogButton opens={PAUSE}>Pause…</DialogButton>;
}

/** Dialog that pauses a host. @param fault why its form was refused; null when it was not. */
export function PauseDialog({
  host,
  path,
  returnTo,
  fault,
}: PauseProps & { readonly fault: FormFault | null }) {
  return (
    <FormDialog
      id={PAUSE}
      title={`Pause ${host}`}
      action={`${path}/pause`}
      send="Pause"
      fault={fault}
    >
      <p>
        No callback is sent to the host meanwhile, and no attempt is counted. Afterwards the
        callbacks go on by themselves, spread over ten minutes.
      </p>
      <ReturnTo returnTo={returnTo} />
      <Select label="For" name={HOURS} options={LENGTHS} value={DEFAULT_HOURS} fault={fault} />
    </FormDialog>
  );
}

interface PauseNoticeProps extends PauseProps {
  /** True for a viewer who may end the pause. */
  readonly mayResume: boolean;
  readonly now: number;
}

/** Says until when a host is paused; empty when it is not. */
export function PauseNotice({ path, until, returnTo, mayResume, now }: PauseNoticeProps) {
  if (until === null) return null;
  const at = until * SECOND_MS;
  const button = (
    <form method="post" action={`${path}/resume`}>
      <ReturnTo returnTo={returnTo} />
      <button type="submit" class="button">
        Resume
      </button>
    </form>
  );
  return (
    <Notice
      tone="warn"
      icon="clock"
      title={
        <>
          <strong>Paused</strong> until <Time at={at} />, <Ago at={at} now={now} />.
        </>
      }
      {...(mayResume && { actions: button })}
    >
      <p>Callbacks to the host rest until then. A test is refused.</p>
    </Notice>
  );
}
