import type { Role } from "../core/views/task-view.ts";

/** The authenticated sender of a request. An upstream is identified by its signature, an account by its key. */
export type Caller =
  | { readonly kind: "operator" }
  | { readonly kind: "upstream" }
  | { readonly kind: "account"; readonly id: string };

/** Returns the role in which the caller reads a task. An upstream must not see the answers of receivers. */
export function roleOf(caller: Caller): Role {
  return caller.kind === "operator" ? "operator" : "account";
}

/**
 * Returns the account to whose tasks the caller is limited; null means that the caller may reach every
 * task.
 */
export function accountOf(caller: Caller): string | null {
  switch (caller.kind) {
    case "operator":
    case "upstream":
      return null;
    case "account":
      return caller.id;
  }
}
