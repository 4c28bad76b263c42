import { hostOf } from "../core/url.ts";

/** Patterns of texts that contain a task id, the most certain first. */
const TASK_PLACES = [
  /^(?:msg_)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i,
  /\/hooks\/[^/\s]+\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
  /\/tasks\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
  /\b(?:webhook-id|x-task-id)\b["']?\s*(?:[:=,]\s*)?["']?(?:msg_)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?![\da-f-])/i,
];
/**
 * Pattern of a host: a name with a dot whose last part is no number, or an address, each perhaps with a port.
 */
const HOST =
  /^(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*|localhost|\d+(?:\.\d+){3}|\[[0-9a-f:.]+\])(?::\d+)?$/i;
const ACCOUNT = /^[\w-]{1,64}$/;
const PREFIX = /^(account|host|model|job):\s*(\S.*)$/i;

/** Target of a search: the thing that the text in the search box names. */
export type SearchTarget =
  | { readonly kind: "task"; readonly id: string }
  | { readonly kind: "host" | "account" | "model" | "job"; readonly name: string }
  /** A single word: the name of an account or, if there is no such account, of a model. */
  | { readonly kind: "word"; readonly name: string };

/**
 * Reads the text in the search box: an id of a task or a message, a hook URL or the headers of a callback, a
 * URL or a host, an account, a model. `account:`, `host:`, `model:` and `job:` at the beginning of the text
 * select one of these. Null for no text.
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
 * Returns the path of the page to which a search leads; for a single word, the list of the tasks of the model
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
