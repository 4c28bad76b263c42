import * as z from "zod/mini";
import { createKey, revokeKey } from "../../../api/accounts/account-keys.ts";
import type { StoredKey } from "../../../account/key-table.ts";
import { DAY_MS } from "../../../core/time.ts";
import { html } from "../../answer.ts";
import { frameOf } from "../../frame.ts";
import { order, seeOther } from "../../order.ts";
import { formAction } from "../../page.ts";
import { Code } from "../../parts/code.tsx";
import { DialogButton } from "../../parts/dialog.tsx";
import { Field, Select } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { Hostile } from "../../parts/hostile.tsx";
import { Layout } from "../../parts/layout.tsx";
import { Panel } from "../../parts/page-head.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

const Made = z.object({ key: z.optional(z.string()) });
const ROLES = [
  ["full", "full: also redeliver, test, and read the secret"],
  ["read", "read: only look"],
] as const;

/** Creates an API key, which only the answer shows, or imports one by its hash. */
export const addKey = formAction("/accounts/{account}/keys", "administer", async (visit) => {
  const { form, params } = visit;
  const sha256 = (form.get("sha256") ?? "").trim().toLowerCase();
  const answer = await order(visit, createKey, params, {
    label: form.get("label") || null,
    role: form.get("role"),
    ...(sha256 !== "" && { sha256 }),
  });
  const { key } = Made.parse(await answer.json());
  const path = `/accounts/${params.account}`;
  if (key === undefined) return seeOther(`${path}?done=imported`);
  return html(
    <Layout title="New API key" frame={frameOf(visit)} section="accounts">
      <dialog open class="dialog dialog-page" aria-labelledby="new-key">
        <h2 id="new-key">New API key of {params.account}</h2>
        <div class="stack-s">
          <p>
            <strong>Copy it now: it is shown only once.</strong> The relay keeps its hash and cannot
            show it again.
          </p>
          <Code text={key} what="the key" />
        </div>
        <p class="buttons">
          <a class="button button-main" href={path}>
            I have stored the key
          </a>
        </p>
      </dialog>
    </Layout>,
    201,
  );
});

/** Revokes an API key of an account. */
export const endKey = formAction(
  "/accounts/{account}/keys/{key}/revoke",
  "administer",
  async (visit) => {
    await order(visit, revokeKey, visit.params);
    return seeOther(`/accounts/${visit.params.account}?done=revoked`);
  },
);

interface KeysPanelProps {
  readonly account: string;
  readonly keys: readonly StoredKey[];
  readonly mayOrder: boolean;
}

/** The API keys of an account, of which the relay knows only the hashes. */
export function KeysPanel({ account, keys, mayOrder }: KeysPanelProps) {
  const action = `/accounts/${account}/keys`;
  return (
    <Panel
      title="API keys"
      aside={
        mayOrder ? (
          <span class="buttons">
            <DialogButton opens="new-key" class="button button-small">
              Create a key
            </DialogButton>
            <DialogButton opens="import-key" class="button button-small">
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
      {mayOrder ? <NewKeyDialogs action={action} /> : null}
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

function NewKeyDialogs({ action }: { readonly action: string }) {
  return (
    <>
      <FormDialog id="new-key" title="Create an API key" action={action} send="Create">
        <KeyFields of="new" />
        <p class="muted small">The next page shows the key, only once.</p>
      </FormDialog>
      <FormDialog id="import-key" title="Import a key by its hash" action={action} send="Import">
        <p>Its owner keeps a key of another system. The relay never sees the key itself.</p>
        <Field
          label="SHA-256 of the key, in hex"
          name="sha256"
          pattern="\s*[0-9a-fA-F]{64}\s*"
          required
          hint={<code>printf %s "$KEY" | sha256sum</code>}
        />
        <KeyFields of="import" />
      </FormDialog>
    </>
  );
}

function KeyFields({ of }: { readonly of: string }) {
  return (
    <>
      <Field
        label="Label"
        name="label"
        id={`${of}-label`}
        maxlength={100}
        hint="For your own lists, e.g. production."
      />
      <Select label="Role" name="role" id={`${of}-role`} options={ROLES} />
    </>
  );
}
