import { findAccount } from "../../api/accounts/account-client.ts";
import { seeOther } from "../order.ts";
import { viewerPage } from "../page.ts";
import { searchPath, searchTarget } from "../search.ts";

/**
 * Redirects from the search box to the page that was searched for; a plain word is tried as an account first,
 * then as a model.
 */
export const searchPage = viewerPage("/search", "read", async ({ env, url, viewer }) => {
  const target = searchTarget(url.searchParams.get("q") ?? "");
  if (target === null) return seeOther("/");
  const isWord = target.kind === "word" && viewer.kind === "operator";
  const isAccount = isWord && (await findAccount(env, target.name)) !== null;
  return seeOther(searchPath(isAccount ? { kind: "account", name: target.name } : target));
});
