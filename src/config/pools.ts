import * as z from "zod/mini";
import { jsonEqual, parseJson } from "../core/json.ts";
import type { Connection } from "../providers/provider.ts";
import { type Draft, type Drafts, POOL, type PoolDraft } from "./connection-drafts.ts";
import type { DisabledConnection } from "./declared-connections.ts";
import type { ConfigIssue } from "./issue.ts";
import { queueLimitIssues, queueLimitsOf } from "./queue-limits.ts";

/** Largest number of members. A submission that waits is in the queue of each. */
const MAX_MEMBERS = 32;
const A_LIST = `must be a list of 1 to ${MAX_MEMBERS} names of connections`;

/** The members of a declaration in which connections to the same upstream differ. */
const OWN = {
  key: null,
  base_url: null,
  webhook_secret: null,
  polls_per_minute: null,
  in_flight: null,
  queue: null,
};

const Entry = z.strictObject({
  provider: z.literal(POOL),
  of: z
    .array(z.string("must name a connection"), A_LIST)
    .check(z.minLength(1, A_LIST), z.maxLength(MAX_MEMBERS, A_LIST)),
  queue: z.optional(z.unknown()),
  failures: z.optional(z.boolean("must be true or false")),
});

/** The connections that the members of a pool can be, and all other names of `CONNECTIONS`. */
interface Known {
  readonly drafts: readonly Draft[];
  readonly connections: ReadonlyMap<string, Connection>;
  readonly disabled: readonly DisabledConnection[];
  readonly pools: readonly PoolDraft[];
}

/**
 * Returns the pools that `CONNECTIONS` makes of other connections. A pool with a fault is disabled alone.
 * @param singles the connections that are no pools.
 * @param disabled the connections that are disabled because of a fault in their own entry.
 * @param reserved names that no pool may have.
 */
export function parsePools(
  { drafts, pools }: Drafts,
  singles: readonly Connection[],
  disabled: readonly DisabledConnection[],
  reserved: readonly string[],
): { readonly pools: readonly Connection[]; readonly disabled: readonly DisabledConnection[] } {
  const connections = new Map(singles.map((connection) => [connection.name, connection]));
  const known = { drafts, connections, disabled, pools };
  const names = [...singles, ...disabled].map(({ name }) => name);
  const read = pools.map((draft, i) => {
    const taken = [...reserved, ...names, ...pools.slice(0, i).map(({ name }) => name)];
    return { name: draft.name, ...readPool(draft, known, taken) };
  });
  return {
    pools: read.flatMap(({ pool }) => pool ?? []),
    disabled: read.flatMap(({ name, issues }) =>
      issues.length > 0 ? { name, provider: POOL, issues } : [],
    ),
  };
}

function readPool(draft: PoolDraft, known: Known, taken: readonly string[]) {
  const { variable, name } = draft;
  const { data, error } = Entry.safeParse(draft.entry);
  const issue = (path: readonly PropertyKey[], message: string): ConfigIssue => {
    return { path: [variable, name, ...path].map(String).join("."), message };
  };
  if (data === undefined) {
    const issues = error.issues.flatMap((fault) =>
      fault.code === "unrecognized_keys"
        ? fault.keys.map((key) => issue([key], "must be left out of a pool"))
        : issue(fault.path, fault.message),
    );
    return { pool: null, issues };
  }
  const members = data.of.flatMap((member) => known.connections.get(member) ?? []);
  const lead = members.find(({ key }) => key !== null);
  const ofMembers = data.of.flatMap((_, i) => {
    const message = memberFault(data.of, i, known);
    return message === null ? [] : issue(["of", i], message);
  });
  const issues = [
    ...(taken.includes(name) ? [issue([], "must have a name that nothing else has")] : []),
    ...ofMembers,
    ...(ofMembers.length === 0 && lead === undefined
      ? [issue(["of"], "must name a connection that has an API key")]
      : []),
    ...queueLimitIssues({ variable, name, entry: data }),
  ];
  if (issues.length > 0 || lead === undefined) return { pool: null, issues };
  const limits = queueLimitsOf(data);
  const pool = { members, submitsFailedAgain: data.failures === true };
  return { pool: { ...lead, name, ...limits, pool }, issues };
}

/** Returns what is wrong with a member of a pool. Null when nothing is. */
function memberFault(of: readonly string[], i: number, known: Known): string | null {
  const [first = "", name = ""] = [of[0], of[i]];
  if (of.indexOf(name) < i) return "must not name a connection that the pool has already";
  if (known.connections.has(name)) {
    return !known.connections.has(first) || isOfSameProvider(first, name, known)
      ? null
      : "must name a connection of the same provider as the first";
  }
  if (known.pools.some((pool) => pool.name === name)) return "must not name a pool";
  return known.disabled.some((each) => each.name === name)
    ? "must not name a connection that is disabled"
    : "must name a connection";
}

/**
 * Tells whether two connections have the same provider, so that both accept the same calls. Declared upstreams do if
 * their declarations differ only in what each connection has for itself.
 */
function isOfSameProvider(a: string, b: string, { connections, drafts }: Known): boolean {
  if (connections.get(a)?.provider.name !== connections.get(b)?.provider.name) return false;
  const [first, second] = [a, b].map((name) => {
    const declaration = drafts.find((draft) => draft.name === name)?.declaration ?? null;
    return parseJson(JSON.stringify(declaration && { ...declaration, ...OWN }));
  });
  return jsonEqual(first ?? null, second ?? null);
}
