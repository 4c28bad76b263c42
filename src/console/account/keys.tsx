import { DAY_MS } from "../../core/time.ts";
import type { StoredKey } from "../../objects/account/key-table.ts";
import type { AccountPermission, AccountRole } from "../../security/roles.ts";
import type { FormFault } from "../http/forms.ts";
import { DialogButton } from "../parts/dialog.tsx";
import { Field, Select } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

const ROLES = ["full", "read"] as const satisfies readonly AccountRole[];

/** Texts of the dialog of a key that name what the role `read` permits, by the permission. */
const READER_MAY: Readonly<Record<AccountPermission<"read">, string>> = {
  read: "read the tasks, attempts and balance of the account",
  ledger: "its ledger and spend",
  keys: "and the list of its keys",
};
/** Texts of the dialog of a key that name what only the role `full` permits, by the permission. */
const ONLY_FULL_MAY: Readonly<
  Record<Exclude<AccountPermission<"full">, AccountPermission<"read">>, string>
> = {
  submit: "submit what you offer to the account",
  cancel: "cancel what it has submitted",
  redeliver: "send callbacks again and send test callbacks",
  outputs: "delete outputs of tasks that have ended",
  endpoints: "read, change and delete its endpoints",
  listen: "receive its callbacks by npm run listen",
  secrets: "and read the secrets that sign its callbacks",
};

interface KeysPanelProps {
  readonly account: string;
  readonly keys: readonly StoredKey[];
  readonly mayOrder: boolean;
  /** Why a form of this page was refused, with the typed values; null when none was refused. */
  readonly fault: FormFault | null;
}

/** Ids of the dialog that creates a key and of the dialog that imports a key. */
export const [NEW_KEY, IMPORT_KEY] = ["new-key", "import-key"] as const;

/**
 * Section with the API keys of an account. Each is shown by its prefix, because the relay stores only hashes of keys.
 */
export function KeysPanel({ account, keys, mayOrder, fault }: KeysPanelProps) {
  const action = `/accounts/${account}/keys`;
  return (
    <Panel
      title="API keys"
      aside={
        mayOrder ? (
          <span class="buttons">
            <DialogButton opens={NEW_KEY} class="button button-small">
              Create a key
            </DialogButton>
            <DialogButton opens={IMPORT_KEY} class="button button-small">
              Import by hash
            </DialogButton>
          </span>
        ) : undefined
      }
    >
      {keys.length === 0 ? (
        <p class="muted">No keys. With a key the client sees its own tasks, here and in the API.</p>
      ) : (
        <Table
          caption="API keys"
          columns={mayOrder ? [...COLUMNS, revocation(action)] : COLUMNS}
          rows={keys}
          rowId={({ id }) => `key-${id}`}
        />
      )}
      {mayOrder ? <NewKeyDialogs action={action} fault={fault} /> : null}
    </Panel>
  );
}

const COLUMNS: readonly Column<StoredKey>[] = [
  { title: "Key", cell: ({ prefix }) => <code>{prefix}…</code> },
  { title: "Label", cell: ({ label }) => (label === null ? "" : <Hostile text={label} />) },
  { title: "Role", cell: ({ role }) => role },
  { title: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: "Last used",
    cell: ({ lastUsedDay: day }) =>
      day === null ? "never" : new Date(day * DAY_MS).toISOString().slice(0, 10),
  },
];

function revocation(action: string): Column<StoredKey> {
  return {
    title: "Action",
    cell: ({ id, prefix }) => (
      <>
        <DialogButton opens={`revoke-${id}`} class="button button-small button-bad">
          Revoke
        </DialogButton>
        <FormDialog
          id={`revoke-${id}`}
          title="Revoke this key?"
          action={`${action}/${id}/revoke`}
          send="Revoke"
          isFinal
        >
          <p>
            <code>{prefix}…</code> is refused everywhere within a minute, and logins with it end.
            This cannot be undone.
          </p>
        </FormDialog>
      </>
    ),
  };
}

interface NewKeyDialogsProps extends Pick<KeysPanelProps, "fault"> {
  readonly action: string;
}

function NewKeyDialogs({ action, fault }: NewKeyDialogsProps) {
  const faultOf = (form: string) => (fault?.form === form ? fault : null);
  const [refusedNew, refusedImport] = [faultOf(NEW_KEY), faultOf(IMPORT_KEY)];
  return (
    <>
      <FormDialog
        id={NEW_KEY}
        title="Create an API key"
        action={action}
        send="Create"
        fault={refusedNew}
      >
        <KeyFields of="new" fault={refusedNew} />
        <p class="muted small">The next page shows the key, only once.</p>
      </FormDialog>
      <FormDialog
        id={IMPORT_KEY}
        title="Import a key by its hash"
        action={action}
        send="Import"
        fault={refusedImport}
      >
        <p>Its owner keeps a key of another system. The relay never sees the key itself.</p>
        <Field
          label="SHA-256 of the key, in hex"
          name="sha256"
          pattern="\s*[0-9a-fA-F]{64}\s*"
          required
          fault={refusedImport}
          hint={<code>printf %s "$KEY" | sha256sum</code>}
        />
        <KeyFields of="import" fault={refusedImport} />
      </FormDialog>
    </>
  );
}

function KeyFields({ of, fault }: { readonly of: string; readonly fault: FormFault | null }) {
  return (
    <>
      <Field
        label="Label"
        name="label"
        id={`${of}-label`}
        maxlength={100}
        fault={fault}
        hint="For your own lists, e.g. production."
      />
      <Select
        label="Role"
        name="role"
        id={`${of}-role`}
        options={ROLES.map((role) => [role, role])}
        fault={fault}
        hint={
          <>
            <strong>read</strong> may {listed(READER_MAY)}.
            <br />
            <strong>full</strong> may also {listed(ONLY_FULL_MAY)}.
          </>
        }
      />
    </>
  );
}

function listed(deeds: Readonly<Record<string, string>>): string {
  return Object.values(deeds).join(", ");
}
