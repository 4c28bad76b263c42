import { findAccount } from "../../api/accounts/account-client.ts";
import { seeOther } from "../order.ts";
import { formAction } from "../page.ts";
import { searchPath, searchTarget } from "../search.ts";

/**
 * Redirects from the search box to the page of what was searched. A single word that an operator searches leads
 * to the account of this name or, if there is none, to the tasks of the model of this name. The text is sent by
 * POST, because a pasted hook URL is a secret, which must not stay in the browser's history.
 */
export const searchPage = formAction("/search", "read", async ({ env, form, viewer }) => {
  const target = searchTarget(form.get("q") ?? "");
  if (target === null) return seeOther("/");
  const isWord = target.kind === "word" && viewer.kind === "operator";
  const isAccount = isWord && (await findAccount(env, target.name)) !== null;
  return seeOther(searchPath(isAccount ? { kind: "account", name: target.name } : target));
});
