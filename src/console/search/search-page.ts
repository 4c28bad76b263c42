import { seeOther } from "../http/html-answer.ts";
import { findAccount } from "../../api/accounts/account-client.ts";
import { Problem } from "../../api/http/problem.ts";
import { formAction } from "../http/page.ts";
import { searchPath, searchTarget } from "./search-target.ts";

/** Largest number of characters that can be searched. Longer texts would make a URL that servers refuse. */
const MAX_CHARACTERS = 4_096;

/**
 * Redirects from the search box to the page of what was searched. For an operator, a single word leads to the account
 * of this name; when there is no such account, it leads to the tasks of the model of this name. The form uses POST,
 * because a pasted hook URL is a secret that must not stay in the browser's history.
 */
export const searchPage = formAction("/search", "read", async ({ env, form, viewer }) => {
  const text = form.get("q") ?? "";
  if (text.length > MAX_CHARACTERS) {
    const message = `must have at most ${MAX_CHARACTERS} characters`;
    const detail = `The search has ${text.length} characters.`;
    throw new Problem("invalid_request", { detail, issues: [{ path: "/q", message }] });
  }
  const target = searchTarget(text);
  if (target === null) return seeOther("/");
  const isWord = target.kind === "word" && viewer.kind === "operator";
  const isAccount = isWord && (await findAccount(env, target.name)) !== null;
  return seeOther(searchPath(isAccount ? { kind: "account", name: target.name } : target));
});
