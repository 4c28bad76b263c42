import { findAccount } from "../../api/accounts/account-client.ts";
import { Problem } from "../../api/http/problem.ts";
import { hostOf } from "../../core/url.ts";
import { seeOther } from "../http/html-answer.ts";
import { formAction } from "../http/page.ts";

/** Largest length in characters of a text in the search box. A longer text would make a URL that servers refuse. */
const MAX_CHARACTERS = 4_096;

/**
 * Redirects from the search box to the page of what the text names. For an operator, a single word leads to the account
 * of this name or, if there is none, to the tasks of the model of this name. The form is sent by POST, because a pasted
 * hook URL is a secret that must not stay in the browser's history.
 */
export const searchPage = formAction(
  "searchPage",
  "/search",
  "read",
  async ({ env, form, viewer }) => {
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
  },
);

/**
 * Patterns of texts that contain a task id, in the order in which they are tried. The one that is least likely to match
 * anything else comes first.
 */
const TASK_PLACES = [
  /^(?:msg_)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i,
  /\/hooks\/[^/\s]+\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
  /\/tasks\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
  /\b(?:webhook-id|x-task-id)\b["']?\s*(?:[:=,]\s*)?["']?(?:msg_)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
];
/**
 * Pattern of a host: a name that contains a dot and whose last part is not a number, `localhost`, or an IP address. A
 * port may follow.
 */
const HOST =
  /^(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*|localhost|\d+(?:\.\d+){3}|\[[0-9a-f:.]+\])(?::\d+)?$/i;
const ACCOUNT = /^[\w-]{1,64}$/;
const PREFIX = /^(account|host|model|job):\s*(\S.*)$/i;

/** Thing that the text in the search box names: a task, a receiver's host, an account, a model or a job. */
type SearchTarget =
  | { readonly kind: "task"; readonly id: string }
  | { readonly kind: "host" | "account" | "model" | "job"; readonly name: string }
  /** A single word. It names an account, or a model when there is no such account. */
  | { readonly kind: "word"; readonly name: string };

/**
 * Reads the text in the search box. It may be a task id or message id, a hook URL, the headers of a callback, a URL or
 * a host, or the name of an account or model. It may begin with `account:`, `host:`, `model:` or `job:`, which says
 * what the rest names.
 * @returns null when the text is empty.
 */
export function searchTarget(input: string): SearchTarget | null {
  const text = input.trim();
  if (text === "") return null;
  const [id] = TASK_PLACES.flatMap((place) => place.exec(text)?.[1] ?? []);
  if (id !== undefined) return { kind: "task", id: id.toLowerCase() };
  const [, prefix, named] = PREFIX.exec(text) ?? [];
  if (prefix !== undefined && named !== undefined) return prefixed(prefix.toLowerCase(), named);
  const host = hostIn(text);
  if (host !== null) return { kind: "host", name: host };
  return { kind: ACCOUNT.test(text) ? "word" : "model", name: text };
}

function hostIn(text: string): string | null {
  if (/^https?:\/\//i.test(text)) return hostOf(text);
  return HOST.test(text) ? text.toLowerCase() : null;
}

function prefixed(prefix: string, name: string): SearchTarget {
  if (prefix === "account" || prefix === "model" || prefix === "job") return { kind: prefix, name };
  return { kind: "host", name: name.toLowerCase() };
}

/**
 * Returns the path of the page to which a search leads. For a single word this is the list of the tasks of the model of
 * this name.
 */
export function searchPath(target: SearchTarget): string {
  switch (target.kind) {
    case "task":
      return `/tasks/${target.id}`;
    case "host":
      return `/hosts/${encodeURIComponent(target.name)}`;
    case "account":
      return `/accounts/${encodeURIComponent(target.name)}`;
    case "job":
      return `/tasks?job=${encodeURIComponent(target.name)}`;
    case "model":
    case "word":
      return `/tasks?model=${encodeURIComponent(target.name)}`;
  }
}
