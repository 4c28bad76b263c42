import * as z from "zod/mini";
import { createKey, listKeys, revokeKey } from "../../api/accounts/account-keys.ts";
import { readAccountSecrets, rotateAccountSecrets } from "../../api/accounts/account-secrets.ts";
import { readAccountSpend } from "../../api/accounts/account-spend.ts";
import { changeAccount, readAccount } from "../../api/accounts/accounts.ts";
import { grantCredits } from "../../api/accounts/credit-changes.ts";
import { listEntries } from "../../api/accounts/entries.ts";
import { EntryCursor } from "../../api/accounts/entry-view.ts";
import { listAccountEndpoints } from "../../api/endpoints/account-endpoints.ts";
import { AccountId } from "../../api/http/fields.ts";
import { unknownAccount } from "../../api/http/problem.ts";
import { readQuery } from "../../api/http/query.ts";
import { countRequest } from "../../api/http/rate-limit.ts";
import { settingsOf } from "../../objects/account/account-profile.ts";
import { accountOf, type KeyHolder, may, readerOf } from "../../objects/task/caller.ts";
import { type FormFault, numberIn, withFaultsIn } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { EndpointsPanel } from "../endpoints/endpoints-panel.tsx";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Code } from "../parts/code.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Confirmation, Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { IMPORT_KEY, KeysPanel, NEW_KEY } from "./keys.tsx";
import { ENTRIES, LedgerPanel } from "./ledger-panel.tsx";
import { SecretsPanel } from "./secrets.tsx";
import { Numbers, SETTINGS, SettingsPanel } from "./account-settings.tsx";
import { SpendPanel } from "./spend-panel.tsx";

const Query = z.object({ cursor: EntryCursor, done: z.optional(z.string()) });

/** Text that confirms a change to an account after its form was sent, by the value of the query parameter `done`. */
const DONE: Readonly<Record<string, string>> = {
  granted: "The credits are booked.",
  changed: "The settings are stored. New tags are in use everywhere within a minute.",
  repeated: "These credits were booked before under this reference. Nothing was booked again.",
  imported: "The key is imported.",
  revoked: "The key is revoked. It is refused everywhere within a minute.",
  rotated: "There is a new secret. Callbacks have a signature of the previous one, too.",
  "endpoint-deleted": "The endpoint is deleted. Tasks that have it keep their copy.",
};

/**
 * The page of an account. It shows the balance, the ledger, the API keys, the endpoints and the callback secrets, as far
 * as the viewer may see them.
 */
export const accountPage = viewerPage("accountPage", "/accounts/{account}", "read", (visit) =>
  showAccount(visit, null),
);

/** Returns the page of an account. @param fault why a form of this page was refused; null when none was refused. */
async function showAccount(
  visit: ViewerVisit<{ readonly account: string }>,
  fault: FormFault | null,
): Promise<Response> {
  const { url, env, viewer, params } = visit;
  const id = ownOrAny(params.account, accountOf(viewer));
  const { cursor, done = "" } = readQuery(Query, url);
  await countRequest("LIMIT_LISTS", viewer, env);
  const account = await readAccount.perform({ params: { account: id } }, viewer, visit);
  const isDeleted = account.deletedAt !== null;
  const parts = await readParts(visit, id, cursor, isDeleted);
  const { entries, keys, secrets, spend, endpoints } = parts;
  const settings = settingsOf(account);
  const mayOrder = may(viewer, "administer") && !isDeleted;
  return html(
    <Layout title={id} frame={frameOf(visit)} section="accounts">
      <Head visit={visit} id={id} createdAt={account.createdAt} mayOrder={mayOrder} />
      <div class="stack">
        <Notices done={done} isDeleted={isDeleted} />
        <Numbers account={account} />
        {readerOf(viewer) === "operator" ? (
          <SettingsPanel account={id} settings={settings} mayOrder={mayOrder} fault={fault} />
        ) : null}
        {spend === null ? null : (
          <SpendPanel
            spend={spend}
            ofAccount={readerOf(viewer) === "operator" ? { account: id } : {}}
          />
        )}
        {entries === null ? null : (
          <LedgerPanel
            account={id}
            page={entries}
            reader={readerOf(viewer)}
            cursor={cursor}
            keys={keys}
          />
        )}
        {keys === null ? null : (
          <KeysPanel account={id} keys={keys} mayOrder={mayOrder} fault={fault} />
        )}
        {endpoints === null ? null : <EndpointsPanel account={id} endpoints={endpoints} />}
        {secrets === null ? null : (
          <SecretsPanel action={`/accounts/${id}/rotate`} secrets={secrets} mayOrder={mayOrder} />
        )}
      </div>
      {mayOrder ? <GrantDialog account={id} now={Date.now()} fault={fault} /> : null}
    </Layout>,
  );
}

/** Confirms what was done before the page was opened, and says that the account is deleted, if it is. */
function Notices({ done, isDeleted }: { readonly done: string; readonly isDeleted: boolean }) {
  return (
    <>
      <Confirmation done={done} texts={DONE} />
      {isDeleted ? (
        <Notice tone="warn" icon="warn" title="This account is deleted.">
          <p>Its keys and secrets are gone. Its ledger stays while a charge may be refunded.</p>
        </Notice>
      ) : null}
    </>
  );
}

interface HeadProps {
  readonly visit: ViewerVisit<unknown>;
  readonly id: string;
  readonly createdAt: number;
  readonly mayOrder: boolean;
}

function Head({ visit: { viewer, url }, id, createdAt, mayOrder }: HeadProps) {
  return (
    <PageHead
      title={id}
      sub={
        <>
          Account, created <Time at={createdAt} />
        </>
      }
    >
      <a class="button" href={viewer.kind === "account" ? "/tasks" : `/tasks?account=${id}`}>
        Tasks
      </a>
      <ApiDialog origin={url.origin} paths={apiPaths(id, viewer)} />
      {mayOrder ? (
        <DialogButton opens={GRANT} class="button button-main">
          Grant credits
        </DialogButton>
      ) : null}
    </PageHead>
  );
}

/**
 * Returns the account id in the path of a page.
 * @param own account of the viewer; null for an operator, who may see all accounts.
 * @throws Problem `not_found` when the viewer may not see this account, or when the text is not an account id.
 */
function ownOrAny(text: string, own: string | null): string {
  const id = AccountId.safeParse(text);
  if (!id.success || (own !== null && own !== id.data)) throw unknownAccount();
  return id.data;
}

/** Returns the paths of API requests that return the data of the page, as far as the viewer may see them. */
function apiPaths(id: string, viewer: KeyHolder): readonly string[] {
  const path = `/v1/accounts/${id}`;
  return [
    path,
    ...(may(viewer, "ledger") ? [`${path}/spend`, `${path}/entries`] : []),
    ...(may(viewer, "keys") ? [`${path}/keys`] : []),
    ...(may(viewer, "endpoints") ? [`${path}/endpoints`] : []),
    ...(may(viewer, "secrets") ? [`${path}/signing-secrets`] : []),
  ];
}

/** Reads the parts of an account's page. Parts that the viewer may not see are null. */
async function readParts(
  visit: ViewerVisit<unknown>,
  account: string,
  cursor: number,
  isDeleted: boolean,
) {
  const { viewer } = visit;
  // The page has been counted as one request.
  const context = { ...visit, counted: "LIMIT_LISTS" } as const;
  const given = { params: { account } };
  const query = { limit: String(ENTRIES), cursor: String(cursor) };
  const isSeen = (part: "keys" | "secrets" | "endpoints") => may(viewer, part) && !isDeleted;
  const isFirst = cursor === Number.MAX_SAFE_INTEGER;
  const [spend, entries, keys, secrets, endpoints] = await Promise.all([
    may(viewer, "ledger") && isFirst ? readAccountSpend.perform(given, viewer, context) : null,
    may(viewer, "ledger") ? listEntries.perform({ ...given, query }, viewer, context) : null,
    isSeen("keys") ? listKeys.perform(given, viewer, context) : null,
    isSeen("secrets") ? readAccountSecrets.perform(given, viewer, context) : null,
    isSeen("endpoints") ? listAccountEndpoints.perform(given, viewer, context) : null,
  ]);
  return { spend, entries, keys, secrets, endpoints };
}

type AccountForm = FormVisit<{ readonly account: string }>;

/** Grants credits to an account. A grant that is sent again with the same reference is not booked a second time. */
export const grant = formAction(
  "grant",
  "/accounts/{account}/grant",
  "administer",
  async (visit) => {
    const { form, viewer, params } = visit;
    const body = { reference: form.get("reference") ?? "", amount: numberIn(form, "amount") };
    return withFaultsIn(
      { id: GRANT, typed: form, fields: ["reference", "amount"] },
      async () => {
        const { isNew } = await grantCredits.perform({ params, body }, viewer, visit);
        const done = isNew ? "granted" : "repeated";
        return seeOther(`/accounts/${params.account}?done=${done}`);
      },
      (fault) => showAccount(visit, fault),
    );
  },
);

/** Changes the settings of an account: its tags, low balance and monthly limit. */
export const changeSettings = formAction(
  "changeSettings",
  "/accounts/{account}/settings",
  "administer",
  async (visit) => {
    const { form, viewer, params } = visit;
    const numberOrNull = (name: string) => (form.get(name) ? numberIn(form, name) : null);
    const body = {
      tags: (form.get("tags") ?? "").split(/[\s,]+/).filter((tag) => tag !== ""),
      low_balance: numberOrNull("low_balance"),
      monthly_limit: numberOrNull("monthly_limit"),
    };
    return withFaultsIn(
      { id: SETTINGS, typed: form, fields: ["tags", "low_balance", "monthly_limit"] },
      async () => {
        await changeAccount.perform({ params, body }, viewer, visit);
        return seeOther(`/accounts/${params.account}?done=changed`);
      },
      (fault) => showAccount(visit, fault),
    );
  },
);

/** Creates an API key, or imports an existing one by its hash. The created key is shown only in this response. */
export const addKey = formAction(
  "addKey",
  "/accounts/{account}/keys",
  "administer",
  async (visit) => {
    const { form, viewer, params } = visit;
    const sha256 = (form.get("sha256") ?? "").trim().toLowerCase();
    const isImport = form.has("sha256");
    const refusable = {
      id: isImport ? IMPORT_KEY : NEW_KEY,
      typed: form,
      fields: ["label", "role", "sha256"],
    };
    const body = {
      label: form.get("label") || null,
      role: form.get("role"),
      ...(isImport && { sha256 }),
    };
    return withFaultsIn(
      refusable,
      async () => shown(visit, await createKey.perform({ params, body }, viewer, visit)),
      (fault) => showAccount(visit, fault),
    );
  },
);

/**
 * Shows a new API key, which no later page can show. After an import there is no key to show, because only its hash was
 * sent, so the browser is redirected to the account's page.
 */
async function shown(visit: AccountForm, { key }: { readonly key?: string }): Promise<Response> {
  const { params } = visit;
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
}

/** Revokes an API key of an account. */
export const endKey = formAction(
  "endKey",
  "/accounts/{account}/keys/{key}/revoke",
  "administer",
  async (visit) => {
    const { viewer, params } = visit;
    await revokeKey.perform({ params }, viewer, visit);
    return seeOther(`/accounts/${params.account}?done=revoked`);
  },
);

/** Creates a new callback secret for an account, unless another one was created after the form was shown. */
export const rotate = formAction(
  "rotate",
  "/accounts/{account}/rotate",
  "administer",
  async (visit) => {
    const { form, viewer, params } = visit;
    const body = { generation: numberIn(form, "generation") };
    await rotateAccountSecrets.perform({ params, body }, viewer, visit);
    return seeOther(`/accounts/${params.account}?done=rotated`);
  },
);

/** Id of the dialog that grants credits. */
const GRANT = "grant";

interface GrantDialogProps {
  readonly account: string;
  readonly now: number;
  /** Why a form of this page was refused, with the typed values; null when none was refused. */
  readonly fault: FormFault | null;
}

/** The dialog that grants credits to an account. */
function GrantDialog({ account, now, fault }: GrantDialogProps) {
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
