import type { FormFault } from "../http/form-fault.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";

/** Id of the dialog that grants credits. */
export const GRANT = "grant";

interface GrantDialogProps {
  readonly account: string;
  readonly now: number;
  /** Refusal of a form of this page, with the values that were typed; null when none was refused. */
  readonly fault: FormFault | null;
}

/** The dialog that grants credits to an account. */
export function GrantDialog({ account, now, fault }: GrantDialogProps) {
  const reference = `console ${new Date(now).toISOString().slice(0, 19)}Z`;
  const own = fault?.form === GRANT ? fault : null;
  return (
    <FormDialog
      id={GRANT}
      title={`Grant credits to ${account}`}
      action={`/accounts/${account}/grant`}
      send="Grant"
      fault={own}
    >
      <Field label="Credits" name="amount" type="number" min={1} required fault={own} />
      <Field
        label="Reference"
        name="reference"
        value={reference}
        maxlength={255}
        required
        fault={own}
        hint="Booked once for each reference: the same grant sent again changes nothing. Use the number of your invoice or payment, where there is one."
      />
    </FormDialog>
  );
}
