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
 * The authenticated sender of a request. The operator is recognised by an operator key, an account by its API key,
 * and an upstream (a service that reports results) by its signature. `key` is the name of the key for logs and
 * records: its label or, without a label, the first eight hex digits of its SHA-256.
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

/** A caller that was authenticated by an API key, and not by a signature. */
export type KeyHolder = Exclude<Caller, { readonly kind: "upstream" }>;

/**
 * Returns the name of the caller's API key for logs and records. Null when the request is signed and has no key.
 */
export function keyNameOf(caller: Caller): string | null {
  return caller.kind === "upstream" ? null : caller.key;
}

/** Tells whether the caller has a permission. An account has it only for its own tasks and data. */
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
 * Returns which kind of reader the caller is. Only the operator sees excerpts of receivers' answers. An upstream that
 * authenticates by a signature sees a task as an account does.
 */
export function readerOf(caller: Caller): Reader {
  return caller.kind === "operator" ? "operator" : "account";
}

/** Returns the account to whose tasks the caller is limited. Null means that the caller may reach all tasks. */
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
 * Returns who orders a redelivery: the operator (with any operator key), or the owner of the task. The
 * `Idempotency-Key` of an order is compared only with those of earlier orders by the same orderer.
 */
export function ordererOf(caller: Caller): Orderer {
  return caller.kind === "operator" ? "operator" : "owner";
}
