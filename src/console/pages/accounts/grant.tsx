import { grantCredits } from "../../../api/accounts/credits.ts";
import { order, seeOther } from "../../order.ts";
import { formAction } from "../../page.ts";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";

/** Id of the dialog that grants credits. */
export const GRANT = "grant";

/** Grants credits to an account, once for each reference. */
export const grant = formAction("/accounts/{account}/grant", "administer", async (visit) => {
  const { form, params } = visit;
  const body = { reference: form.get("reference") ?? "", amount: Number(form.get("amount")) };
  const { status } = await order(visit, grantCredits, params, body);
  return seeOther(`/accounts/${params.account}?done=${status === 201 ? "granted" : "repeated"}`);
});

/** The dialog that grants credits to an account. */
export function GrantDialog({ account, now }: { readonly account: string; readonly now: number }) {
  const reference = `console ${new Date(now).toISOString().slice(0, 19)}Z`;
  return (
    <FormDialog
      id={GRANT}
      title={`Grant credits to ${account}`}
      action={`/accounts/${account}/grant`}
      send="Grant"
    >
      <Field label="Credits" name="amount" type="number" min={1} required />
      <Field
        label="Reference"
        name="reference"
        value={reference}
        maxlength={255}
        required
        hint="Booked once for each reference: the same grant sent again changes nothing. Use the number of your invoice or payment, where there is one."
      />
    </FormDialog>
  );
}
