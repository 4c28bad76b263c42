/**
 * Roles of API keys, and the table of what each role permits. docs/api.md has the same table, which a test
 * compares with this one.
 */

/** Roles of operator keys, as the entries of `OPERATOR_KEYS` name them. */
export const OPERATOR_ROLES = ["read", "metrics", "operate", "all"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** An entry of `OPERATOR_KEYS`: an API key of the operator with its role and label. */
export interface OperatorKey {
  /** The key itself, which its holder sends as bearer token. */
  readonly secret: string;
  readonly role: OperatorRole;
  /** Label by which logs and records name the key; null when it has none. */
  readonly label: string | null;
}

/** Role of an account's API key, chosen when the key is created. */
export type AccountRole = "read" | "full";

/** The roles of operator keys, and of accounts' keys, that have a permission. */
interface Holders {
  readonly operators: readonly OperatorRole[];
  readonly accounts: readonly AccountRole[];
}

/** Every permission with the roles that have it. A key without any of these roles gets 403 `forbidden`. */
export const PERMISSIONS = {
  /** Permission to read statistics, metrics and the details of `/healthz`. */
  statistics: { operators: ["read", "metrics", "operate", "all"], accounts: [] },
  /** Permission to read what concerns all accounts, e.g. their list. */
  inspect: { operators: ["read", "operate", "all"], accounts: [] },
  /**
   * Permission to read and list tasks, and to read an account and its balance. An account's key reads only
   * its own.
   */
  read: { operators: ["read", "operate", "all"], accounts: ["read", "full"] },
  /** Permission to read the entries of an account's ledger, such as grants, charges and refunds of credits. */
  ledger: { operators: ["operate", "all"], accounts: ["read", "full"] },
  /** Permission to report events. A sender that signs its events has this permission too. */
  report: { operators: ["operate", "all"], accounts: [] },
  /** Permission to register, cancel, wake and reindex tasks, and to attach providers' jobs to them. */
  operate: { operators: ["operate", "all"], accounts: [] },
  /** Permission to make the relay send callbacks: redeliveries and test callbacks. */
  redeliver: { operators: ["operate", "all"], accounts: ["full"] },
  /**
   * Permission to receive the callbacks of an account's tasks in a program that listens for them, instead of
   * at a server, and to answer them: each answer becomes the outcome of the attempt.
   */
  listen: { operators: [], accounts: ["full"] },
  /** Permission to list an account's API keys, without the keys themselves. */
  keys: { operators: ["all"], accounts: ["read", "full"] },
  /** Permission to read the secrets that sign an account's callbacks. */
  secrets: { operators: ["all"], accounts: ["full"] },
  /**
   * Permission to book grants and adjustments, to create and delete accounts, keys and secrets, to read the
   * secrets of the relay itself, and to erase tasks.
   */
  administer: { operators: ["all"], accounts: [] },
} as const satisfies Readonly<Record<string, Holders>>;

export type Permission = keyof typeof PERMISSIONS;

export function isOperatorRole(word: string): word is OperatorRole {
  return OPERATOR_ROLES.some((role) => role === word);
}

/** Tells whether an operator key of this role has the permission. */
export function mayOperator(role: OperatorRole, permission: Permission): boolean {
  return holdersOf(permission).operators.includes(role);
}

/** Tells whether an account's key of this role has the permission, within its own account. */
export function mayAccount(role: AccountRole, permission: Permission): boolean {
  return holdersOf(permission).accounts.includes(role);
}

/** Tells whether at least one role of an account's API key has the permission. */
export function isForAccounts(permission: Permission): boolean {
  return holdersOf(permission).accounts.length > 0;
}

/** Describes the keys that have the permission, e.g. "an operator key with the role operate or all". */
export function describeHolders(permission: Permission): string {
  const { operators, accounts } = holdersOf(permission);
  return [
    { of: "an operator key", roles: operators },
    { of: "a key of the account", roles: accounts },
  ]
    .flatMap(({ of, roles }) => (roles.length > 0 ? `${of} with the role ${anyOf(roles)}` : []))
    .join(", or ");
}

function holdersOf(permission: Permission): Holders {
  return PERMISSIONS[permission];
}

function anyOf(words: readonly string[]): string {
  return words.join(", ").replace(/, (?=[^,]*$)/, " or ");
}
