import * as z from "zod/mini";
import { createAccount, listBalances } from "../../api/accounts/accounts.ts";
import { readQuery } from "../../api/http/query.ts";
import { DEFAULT_RATE_LIMITS } from "../../config/rate-limits.ts";
import { may } from "../../objects/task/caller.ts";
import { type FormFault, withFaultsIn } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { countText } from "../parts/format.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Id of the dialog that creates an account. */
const CREATE = "create";
const PAGE = 50;
const Query = z.object({ cursor: z._default(z.string().check(z.maxLength(64)), "") });

/**
 * The page that lists the accounts of the relay with their balances. A viewer who has logged in with the key of an
 * account is redirected to the page of this account.
 */
export const accountsPage = viewerPage("accountsPage", "/accounts", "read", (visit) =>
  showAccounts(visit, null),
);

async function showAccounts(visit: ViewerVisit, fault: FormFault | null): Promise<Response> {
  const { url, runtime, viewer } = visit;
  if (viewer.kind === "account") return seeOther(`/accounts/${viewer.id}`);
  const { cursor } = readQuery(Query, url);
  const query = { cursor, limit: String(PAGE) };
  const found = runtime.config.isIndexed
    ? await listBalances.perform({ params: {}, query }, viewer, visit)
    : null;
  return html(
    <Layout title="Accounts" frame={frameOf(visit)} section="accounts">
      <PageHead
        title="Accounts"
        sub="Clients of yours with credits, API keys and a callback secret of their own"
      >
        <ApiDialog origin={url.origin} paths={["/v1/accounts"]} />
        {may(viewer, "administer") ? <CreateButton fault={fault} /> : null}
      </PageHead>
      {found === null ? (
        <NoList />
      ) : (
        <Accounts rows={found.accounts} next={found.next} isFirst={cursor === ""} />
      )}
    </Layout>,
  );
}

/** Creates an account and redirects to its page. When an account with this id exists already, it only redirects. */
export const addAccount = formAction("addAccount", "/accounts", "administer", async (visit) => {
  const id = (visit.form.get("id") ?? "").trim();
  return withFaultsIn(
    { id: CREATE, typed: visit.form, fields: ["id"] },
    async () => {
      await createAccount.perform({ params: {}, body: { id } }, visit.viewer, visit);
      return seeOther(`/accounts/${id}`);
    },
    (fault) => showAccounts(visit, fault),
  );
});

interface Row {
  readonly id: string;
  readonly createdAt: number;
  readonly balance: number | null;
}

function Accounts(props: {
  readonly rows: readonly Row[];
  readonly next: string | null;
  readonly isFirst: boolean;
}) {
  const { rows, next, isFirst } = props;
  if (rows.length === 0) {
    return (
      <Empty icon="account" title={isFirst ? "No accounts yet" : "No further accounts"}>
        <p>
          Tasks work without accounts. Create one for each client that is to pay with credits, read
          its own tasks with its own key, or verify callbacks with its own secret.
        </p>
      </Empty>
    );
  }
  return (
    <div class="stack-s">
      <Table caption="Accounts" columns={COLUMNS} rows={rows} rowId={({ id }) => `account-${id}`} />
      <p class="buttons">
        {isFirst ? null : (
          <a class="button" href="/accounts">
            First page
          </a>
        )}
        {next === null ? null : (
          <a class="button" href={`/accounts?cursor=${next}`}>
            Next {PAGE}
          </a>
        )}
      </p>
    </div>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Account", cell: ({ id }) => <a href={`/accounts/${id}`}>{id}</a> },
  { title: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: "Tasks", cell: ({ id }) => <a href={`/tasks?account=${id}`}>Show its tasks</a> },
  {
    title: "Balance",
    isNumber: true,
    cell: ({ balance }) => (balance === null ? "–" : countText(balance)),
  },
];

function NoList() {
  return (
    <Empty icon="account" title="Accounts are listed only with an index">
      <p>
        Every account works without it and has its page: search for <code>account:</code> and its id
        in the field above.
      </p>
    </Empty>
  );
}

function CreateButton({ fault }: { readonly fault: FormFault | null }) {
  return (
    <>
      <DialogButton opens={CREATE} class="button button-main">
        Create an account
      </DialogButton>
      <FormDialog
        id={CREATE}
        title="Create an account"
        action="/accounts"
        send="Create"
        fault={fault}
      >
        <Field
          label="Id"
          name="id"
          fault={fault}
          required
          maxlength={64}
          pattern="[A-Za-z0-9_\-]+"
          hint="Up to 64 of A-Z a-z 0-9 _ -. It stays in every task of the account and cannot be changed."
        />
        <p class="muted small">
          Its keys together submit at most {DEFAULT_RATE_LIMITS.LIMIT_SUBMITS} jobs a minute, unless{" "}
          <code>LIMIT_SUBMITS</code> in <code>wrangler.toml</code> says otherwise.
        </p>
      </FormDialog>
    </>
  );
}
