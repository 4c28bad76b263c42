import { createKey, revokeKey } from "../../api/accounts/account-keys.ts";
import { rotateAccountSecrets } from "../../api/accounts/account-secrets.ts";
import { grantCredits } from "../../api/accounts/credit-changes.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { withFaultsIn } from "../http/form-fault.ts";
import { frameOf } from "../layout/frame.ts";
import { numberIn } from "../http/form-number.ts";
import { formAction, type FormVisit } from "../http/page.ts";
import { Code } from "../parts/code.tsx";
import { Layout } from "../layout/layout.tsx";
import { showAccount } from "./account-page.tsx";
import { GRANT } from "./grant.tsx";
import { IMPORT_KEY, NEW_KEY } from "./keys.tsx";

type AccountForm = FormVisit<{ readonly account: string }>;

/** Grants credits to an account. A repeated grant with the same reference changes nothing. */
export const grant = formAction("/accounts/{account}/grant", "administer", async (visit) => {
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
});

/** Creates an API key, or imports an existing one by its hash. A created key is shown only in this answer. */
export const addKey = formAction("/accounts/{account}/keys", "administer", async (visit) => {
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
});

/**
 * Shows a new API key, which no later page can show. After an import there is no key to show, because only its hash
 * was sent; the browser is then redirected to the page of the account.
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
  "/accounts/{account}/keys/{key}/revoke",
  "administer",
  async (visit) => {
    const { viewer, params } = visit;
    await revokeKey.perform({ params }, viewer, visit);
    return seeOther(`/accounts/${params.account}?done=revoked`);
  },
);

/**
 * Creates a new callback secret for an account. Does nothing when another secret was created after the page with
 * the form was shown.
 */
export const rotate = formAction("/accounts/{account}/rotate", "administer", async (visit) => {
  const { form, viewer, params } = visit;
  const body = { generation: numberIn(form, "generation") };
  await rotateAccountSecrets.perform({ params, body }, viewer, visit);
  return seeOther(`/accounts/${params.account}?done=rotated`);
});
