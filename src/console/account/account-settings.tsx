import { type AccountSettings, settingsOf } from "../../objects/account/account-profile.ts";
import type { AccountState } from "../../objects/account/account-object.ts";
import type { FormFault } from "../http/forms.ts";
import { DialogButton } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { amountText, countText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";

/** Id of the dialog that changes the settings of an account. */
export const SETTINGS = "settings";

/** The balance of an account, and what it has spent in this month, with the prices of open tasks. */
export function Numbers({ account }: { readonly account: AccountState }) {
  const { balance, monthSpent } = account;
  const { monthlyLimit } = settingsOf(account);
  const limit = monthlyLimit === null ? "" : ` of ${countText(monthlyLimit)}`;
  return (
    <div class="stats">
      <Stat value={amountText(balance)} label="credits" />
      <Stat
        value={`${countText(monthSpent)}${limit}`}
        label="spent this month (UTC), open tasks included"
      />
    </div>
  );
}

interface SettingsPanelProps {
  readonly account: string;
  readonly settings: AccountSettings;
  readonly mayOrder: boolean;
  /** Why a form of this page was refused, with the typed values; null when none was refused. */
  readonly fault: FormFault | null;
}

/** Section with the tags, the low balance and the monthly limit of an account, for operators. */
export function SettingsPanel({ account, settings, mayOrder, fault }: SettingsPanelProps) {
  const { tags, lowBalance, monthlyLimit } = settings;
  return (
    <Panel
      title="Settings"
      aside={
        mayOrder ? (
          <DialogButton opens={SETTINGS} class="button button-small">
            Change
          </DialogButton>
        ) : undefined
      }
    >
      <dl class="fields">
        <dt>Tags</dt>
        <dd>{tags.length === 0 ? "none" : tags.join(", ")}</dd>
        <dt>Low balance</dt>
        <dd>{lowBalance === null ? "not watched" : `told below ${countText(lowBalance)}`}</dd>
        <dt>Monthly limit</dt>
        <dd>{monthlyLimit === null ? "none" : countText(monthlyLimit)}</dd>
      </dl>
      {mayOrder ? <SettingsDialog account={account} settings={settings} fault={fault} /> : null}
    </Panel>
  );
}

function SettingsDialog({
  account,
  settings: { tags, lowBalance, monthlyLimit },
  fault,
}: Omit<SettingsPanelProps, "mayOrder">) {
  const own = fault?.form === SETTINGS ? fault : null;
  return (
    <FormDialog
      id={SETTINGS}
      title={`Settings of ${account}`}
      action={`/accounts/${account}/settings`}
      send="Store"
      fault={own}
    >
      <Field
        label="Tags"
        name="tags"
        value={tags.join(", ")}
        fault={own}
        hint="Names of price lists: an offer for tag:NAME is for this account too. Up to 20 of a-z 0-9 -, with commas between them."
      />
      <Field
        label="Low balance"
        name="low_balance"
        type="number"
        min={0}
        value={lowBalance === null ? "" : String(lowBalance)}
        fault={own}
        hint="Below it you get the event account.low_balance, once per fall. Empty: never."
      />
      <Field
        label="Monthly limit"
        name="monthly_limit"
        type="number"
        min={0}
        value={monthlyLimit === null ? "" : String(monthlyLimit)}
        fault={own}
        hint="Credits that the charges of a month (UTC) may cost. Empty: no limit."
      />
    </FormDialog>
  );
}
