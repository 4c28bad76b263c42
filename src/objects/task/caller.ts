import type { Orderer } from "../../core/record/redelivery-keys.ts";
import type { Reader } from "../../core/views/reader.ts";
import {
  type AccountRole,
  mayAccount,
  mayOperator,
  type OperatorRole,
  type Permission,
} from "../../security/roles.ts";

/**
 * The authenticated sender of a request: the operator, identified by an operator key; an upstream, the
 * service that reports results, by its signature; or an account, by its API key. `key` is the name of the
 * key for logs and records: its label, or the first eight hex digits of its SHA-256.
 */
export type Caller =
  | { readonly kind: "operator"; readonly role: OperatorRole; readonly key: string }
  | { readonly kind: "upstream" }
  | {
      readonly kind: "account";
      readonly id: string;
      readonly role: AccountRole;
      readonly key: string;
    };

/** A caller that has shown an API key. */
export type KeyHolder = Exclude<Caller, { readonly kind: "upstream" }>;

/** Returns the name of the caller's API key for logs and records; null when the request is signed instead. */
export function keyNameOf(caller: Caller): string | null {
  return caller.kind === "upstream" ? null : caller.key;
}

/** Tells whether the caller has a permission; an account has it only for what belongs to it. */
export function may(caller: Caller, permission: Permission): boolean {
  switch (caller.kind) {
    case "operator":
      return mayOperator(caller.role, permission);
    case "account":
      return mayAccount(caller.role, permission);
    case "upstream":
      return permission === "report";
  }
}

/**
 * Returns the kind of reader that the caller is: only the operator sees the excerpts of receivers' answers,
 * so an upstream gets the view of an account.
 */
export function readerOf(caller: Caller): Reader {
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

/**
 * Returns whether the caller orders a redelivery as the operator, whichever operator key it has, or as the
 * owner of the task. Idempotency-Keys are compared only within one of the two.
 */
export function ordererOf(caller: Caller): Orderer {
  return caller.kind === "operator" ? "operator" : "owner";
}
