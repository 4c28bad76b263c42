import type { Role } from "../core/views/task-view.ts";

/** The authenticated sender of a request. An upstream is known by its signature, an account by its key. */
export type Caller =
  | { readonly kind: "operator" }
  | { readonly kind: "upstream" }
  | { readonly kind: "account"; readonly id: string };

/** Returns the view that the caller gets: an upstream must not see what the client's receiver answered. */
export function roleOf(caller: Caller): Role {
  return caller.kind === "operator" ? "operator" : "account";
}

/** Returns the account whose tasks alone the caller may reach; null means every task. */
export function accountOf(caller: Caller): string | null {
  switch (caller.kind) {
    case "operator":
    case "upstream":
      return null;
    case "account":
      return caller.id;
  }
}
