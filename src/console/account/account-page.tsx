import * as z from "zod/mini";
import { listKeys } from "../../api/accounts/account-keys.ts";
import { readAccountSecrets } from "../../api/accounts/account-secrets.ts";
import { readAccount } from "../../api/accounts/accounts.ts";
import { listEntries } from "../../api/accounts/entries.ts";
import { EntryCursor } from "../../api/accounts/entry-view.ts";
import { AccountId } from "../../api/http/fields.ts";
import { unknownAccount } from "../../api/http/problem.ts";
import { readQuery } from "../../api/http/query.ts";
import { countRequest } from "../../api/http/rate-limit.ts";
import { accountOf, type KeyHolder, may, readerOf } from "../../objects/task/caller.ts";
import { html } from "../http/html-answer.ts";
import { countText } from "../parts/format.ts";
import type { FormFault } from "../http/form-fault.ts";
import { frameOf } from "../layout/frame.ts";
import { type ViewerVisit, viewerPage } from "../http/page.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { DialogButton } from "../parts/dialog.tsx";
import { Layout } from "../layout/layout.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";
import { Time } from "../parts/shown-time.tsx";
import { GRANT, GrantDialog } from "./grant.tsx";
import { KeysPanel } from "./keys.tsx";
import { ENTRIES, LedgerPanel } from "./ledger-panel.tsx";
import { SecretsPanel } from "./secrets.tsx";

const Query = z.object({ cursor: EntryCursor, done: z.optional(z.string()) });

/** Texts that confirm the change of a form on the page, by the value of the query parameter `done`. */
const DONE: Readonly<Record<string, string>> = {
  granted: "The credits are booked.",
  repeated: "These credits were booked before under this reference. Nothing was booked again.",
  imported: "The key is imported.",
  revoked: "The key is revoked. It is refused everywhere within a minute.",
  rotated: "There is a new secret. Callbacks have a signature of the previous one, too.",
};

/**
 * The page of an account. It shows the balance, the ledger, the API keys and the callback secrets, as far as the
 * viewer may see them.
 */
export const accountPage = viewerPage("/accounts/{account}", "read", (visit) =>
  showAccount(visit, null),
);

/**
 * Returns the page of an account.
 * @param fault refusal of a form of this page; null when none was refused.
 */
export async function showAccount(
  visit: ViewerVisit<{ readonly account: string }>,
  fault: FormFault | null,
): Promise<Response> {
  const { url, env, viewer, params } = visit;
  const id = ownOrAny(params.account, accountOf(viewer));
  const { cursor, done = "" } = readQuery(Query, url);
  await countRequest("LIMIT_LISTS", viewer, env);
  const account = await readAccount.perform({ params: { account: id } }, viewer, visit);
  const isDeleted = account.deletedAt != null;
  const { entries, keys, secrets } = await readParts(visit, id, cursor, isDeleted);
  const mayOrder = may(viewer, "administer") && !isDeleted;
  const said = DONE[done];
  return html(
    <Layout title={id} frame={frameOf(visit)} section="accounts">
      <Head visit={visit} id={id} createdAt={account.createdAt} mayOrder={mayOrder} />
      <div class="stack">
        {said === undefined ? null : <Notice tone="ok" icon="check" title={said} />}
        {isDeleted ? (
          <Notice tone="warn" icon="warn" title="This account is deleted.">
            <p>Its keys and secrets are gone. Its ledger stays while a charge may be refunded.</p>
          </Notice>
        ) : null}
        <Stat value={countText(account.balance)} label="credits" />
        {entries === null ? null : (
          <LedgerPanel account={id} page={entries} reader={readerOf(viewer)} cursor={cursor} />
        )}
        {keys === null ? null : (
          <KeysPanel account={id} keys={keys} mayOrder={mayOrder} fault={fault} />
        )}
        {secrets === null ? null : (
          <SecretsPanel account={id} secrets={secrets} mayOrder={mayOrder} />
        )}
      </div>
      {mayOrder ? <GrantDialog account={id} now={Date.now()} fault={fault} /> : null}
    </Layout>,
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
 * Returns the account id in the path.
 * @param own account of the viewer; null for an operator, who may see all accounts.
 * @throws Problem `not_found` when the viewer may not see this account, or the text is not an account id.
 */
function ownOrAny(text: string, own: string | null): string {
  const id = AccountId.safeParse(text);
  if (!id.success || (own !== null && own !== id.data)) throw unknownAccount();
  return id.data;
}

/** Returns the paths of the API that return the data of the page, as far as the viewer may see them. */
function apiPaths(id: string, viewer: KeyHolder): readonly string[] {
  const path = `/v1/accounts/${id}`;
  return [
    path,
    ...(may(viewer, "ledger") ? [`${path}/entries`] : []),
    ...(may(viewer, "keys") ? [`${path}/keys`] : []),
    ...(may(viewer, "secrets") ? [`${path}/signing-secrets`] : []),
  ];
}

/** Reads the parts of an account that the viewer may see. A part that the viewer may not see is null. */
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
  const isSeen = (part: "keys" | "secrets") => may(viewer, part) && !isDeleted;
  const [entries, keys, secrets] = await Promise.all([
    may(viewer, "ledger") ? listEntries.perform({ ...given, query }, viewer, context) : null,
    isSeen("keys") ? listKeys.perform(given, viewer, context) : null,
    isSeen("secrets") ? readAccountSecrets.perform(given, viewer, context) : null,
  ]);
  return { entries, keys, secrets };
}
