/**
 * Roles of API keys, and the table of what each role permits. docs/api.md has the same table, which a test
 * compares with this one.
 */

/** Roles of operator keys, as the entries of `OPERATOR_KEYS` name them. */
export const OPERATOR_ROLES = ["read", "metrics", "operate", "all"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** An operator key, as configured. */
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
  /** Reads statistics, metrics and the details of `/healthz`. */
  statistics: { operators: ["read", "metrics", "operate", "all"], accounts: [] },
  /** Reads what concerns all accounts, e.g. their list. */
  inspect: { operators: ["read", "operate", "all"], accounts: [] },
  /** Reads and lists tasks; reads an account and its balance. An account's key reads only its own. */
  read: { operators: ["read", "operate", "all"], accounts: ["read", "full"] },
  /** Reads the entries of a ledger. */
  ledger: { operators: ["operate", "all"], accounts: ["read", "full"] },
  /** Reports events. A sender that signs its events has this permission too. */
  report: { operators: ["operate", "all"], accounts: [] },
  /** Registers, attaches, cancels, wakes and reindexes tasks. */
  operate: { operators: ["operate", "all"], accounts: [] },
  /** Makes the relay send callbacks: redelivers and tests. */
  redeliver: { operators: ["operate", "all"], accounts: ["full"] },
  /** Lists an account's API keys, without the keys themselves. */
  keys: { operators: ["all"], accounts: ["read", "full"] },
  /** Reads an account's callback secrets. */
  secrets: { operators: ["all"], accounts: ["full"] },
  /**
   * Books grants and adjustments, creates and deletes accounts, keys and secrets, reads the secrets of the
   * relay itself, and erases tasks.
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

/** Tells whether any key of an account has the permission. */
export function isForAccounts(permission: Permission): boolean {
  return holdersOf(permission).accounts.length > 0;
}

/** Describes the keys that have the permission, e.g. "an operator key with the role operate or all". */
export function describeHolders(permission: Permission): string {
  const { operators, accounts } = holdersOf(permission);
  const operator = `an operator key with the role ${anyOf(operators)}`;
  if (accounts.length === 0) return operator;
  return `${operator}, or a key of the account with the role ${anyOf(accounts)}`;
}

function holdersOf(permission: Permission): Holders {
  return PERMISSIONS[permission];
}

function anyOf(words: readonly string[]): string {
  return words.join(", ").replace(/, (?=[^,]*$)/, " or ");
}
