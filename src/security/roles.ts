/**
 * Roles of API keys, and the table of what each role permits. docs/api.md has the same table; a test compares the
 * two.
 */

/** Roles of operator keys, as the entries of `OPERATOR_KEYS` name them. */
export const OPERATOR_ROLES = ["read", "metrics", "operate", "all"] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** An API key of the operator with its role and label, from an entry of `OPERATOR_KEYS`. */
export interface OperatorKey {
  /** The key itself, which its user sends as a bearer token. */
  readonly secret: string;
  readonly role: OperatorRole;
  /** Label by which logs and records name the key. Null when the key has none. */
  readonly label: string | null;
}

/** Role of an account's API key, chosen when the key is created. */
export type AccountRole = "read" | "full";

/** The roles that have one permission: some roles of operator keys, and some roles of accounts' keys. */
interface Holders {
  readonly operators: readonly OperatorRole[];
  readonly accounts: readonly AccountRole[];
}

/** Every permission with the roles that have it. A request whose key has another role gets 403 `forbidden`. */
export const PERMISSIONS = {
  /** Permission to read statistics, metrics and the details of `/healthz`. */
  statistics: { operators: ["read", "metrics", "operate", "all"], accounts: [] },
  /** Permission to read data about all accounts, e.g. the list of accounts. */
  inspect: { operators: ["read", "operate", "all"], accounts: [] },
  /**
   * Permission to read and list tasks, and to read an account and its balance. A key of an account reads only this
   * account and its tasks.
   */
  read: { operators: ["read", "operate", "all"], accounts: ["read", "full"] },
  /**
   * Permission to read the entries of an account's ledger, such as grants, charges and refunds of credits, and what the
   * account has spent.
   */
  ledger: { operators: ["operate", "all"], accounts: ["read", "full"] },
  /** Permission to report events. A sender that signs its events, and so has no key, has this permission too. */
  report: { operators: ["operate", "all"], accounts: [] },
  /**
   * Permission to register tasks, to wake them, to write their index rows again, to attach providers' jobs to them, and
   * to read and change the endpoints of the relay, and to pause receivers' hosts.
   */
  operate: { operators: ["operate", "all"], accounts: [] },
  /** Permission to submit jobs through the relay. An account may submit only what is offered to it. */
  submit: { operators: ["operate", "all"], accounts: ["full"] },
  /**
   * Permission to cancel tasks. An account may cancel only tasks that it has submitted, and only at upstreams that
   * cancel jobs.
   */
  cancel: { operators: ["operate", "all"], accounts: ["full"] },
  /** Permission to make the relay send callbacks: redeliveries and test callbacks. */
  redeliver: { operators: ["operate", "all"], accounts: ["full"] },
  /** Permission to delete outputs of tasks that have ended, i.e. the files that the tasks have generated. */
  outputs: { operators: ["operate", "all"], accounts: ["full"] },
  /** Permission to read, change and delete the endpoints of an account, i.e. its named receivers of callbacks. */
  endpoints: { operators: ["operate", "all"], accounts: ["full"] },
  /**
   * Permission to receive the callbacks of an account's tasks in a program that listens for them (a listener),
   * instead of at a server. The listener's answer becomes the outcome of the attempt.
   */
  listen: { operators: [], accounts: ["full"] },
  /** Permission to list an account's API keys, without the keys themselves. */
  keys: { operators: ["all"], accounts: ["read", "full"] },
  /** Permission to read the secrets that sign an account's callbacks, also those of its endpoints. */
  secrets: { operators: ["all"], accounts: ["full"] },
  /**
   * Permission to book grants and adjustments, to create, change and delete accounts, to create and delete keys and
   * secrets, to read the secrets of the relay itself, and to erase tasks.
   */
  administer: { operators: ["all"], accounts: [] },
} as const satisfies Readonly<Record<string, Holders>>;

export type Permission = keyof typeof PERMISSIONS;

/** A permission that an account's API key with this role has. */
export type AccountPermission<Role extends AccountRole> = {
  [P in Permission]: Role extends (typeof PERMISSIONS)[P]["accounts"][number] ? P : never;
}[Permission];

export function isOperatorRole(word: string): word is OperatorRole {
  return OPERATOR_ROLES.some((role) => role === word);
}

/** Tells whether an operator key of the given role has the permission. */
export function mayOperator(role: OperatorRole, permission: Permission): boolean {
  return holdersOf(permission).operators.includes(role);
}

/**
 * Tells whether a key of an account with this role has the permission. A key has its permissions only for its own
 * account.
 */
export function mayAccount(role: AccountRole, permission: Permission): boolean {
  return holdersOf(permission).accounts.includes(role);
}

/** Tells whether at least one role of an account's API key has the permission. */
export function isForAccounts(permission: Permission): boolean {
  return holdersOf(permission).accounts.length > 0;
}

/**
 * Returns a description of the keys that have the permission, e.g. "an operator key with the role operate or all".
 */
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
