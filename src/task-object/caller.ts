import type { Role } from "../core/views/task-view.ts";

/**
 * The authenticated sender of a request: the operator, identified by an operator key; an upstream, the
 * service that reports results, by its signature; or an account, by its API key.
 */
export type Caller =
  | { readonly kind: "operator" }
  | { readonly kind: "upstream" }
  | { readonly kind: "account"; readonly id: string };

/**
 * Returns the role in which the caller reads a task: only the operator sees the excerpts of receivers'
 * answers, so an upstream gets the view of an account.
 */
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
