import { hostOf } from "../../core/url.ts";

/** Patterns of texts that contain a task id. The pattern that is least likely to match something else comes first. */
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

/** Target of a search: what the text in the search box names. */
export type SearchTarget =
  | { readonly kind: "task"; readonly id: string }
  | { readonly kind: "host" | "account" | "model" | "job"; readonly name: string }
  /** A single word. It names an account, or a model when there is no such account. */
  | { readonly kind: "word"; readonly name: string };

/**
 * Reads the text in the search box. It may contain a task id or a message id, a hook URL or the headers of a
 * callback, a URL or a host, the name of an account or of a model. A text may begin with `account:`, `host:`,
 * `model:` or `job:` to say what the rest names. Null means that the text is empty.
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
 * Returns the path of the page to which a search leads. A single word leads to the list of the tasks of the model
 * with this name.
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
