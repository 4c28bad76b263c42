import {
  type Declaration,
  DECLARED_PROVIDER,
  parseDeclaration,
} from "../providers/generic/declaration.ts";
import { at } from "../providers/json-fields.ts";
import type { ConfigIssue } from "./issue.ts";
import { repeatedMembers } from "./repeated-members.ts";

/**
 * A connection that does not work because of a fault in its entry in `CONNECTIONS`: in the declaration of its upstream, in
 * its limits of jobs, or in what makes it a pool. All other connections work without it.
 */
export interface DisabledConnection {
  readonly name: string;
  readonly provider: string;
  /** The faults of the entry, each with the path of the member at fault, e.g. `CONNECTIONS.gpu.poll.state`. */
  readonly issues: readonly ConfigIssue[];
}

/**
 * A connection of `CONNECTIONS` whose upstream the operator describes by a declaration. Either the declaration is
 * valid, or the connection is disabled because of its faults.
 */
export type ReadDeclaration =
  | { readonly kind: "valid"; readonly name: string; readonly declaration: Declaration }
  | { readonly kind: "disabled"; readonly connection: DisabledConnection };

/** Tells whether an entry of `CONNECTIONS` describes its upstream by a declaration. */
export function isDeclared(entry: unknown): boolean {
  return at(entry, "provider") === DECLARED_PROVIDER;
}

/**
 * Reads those connections of a variable whose upstream is described by a declaration.
 * @param value value of the variable. Only its text shows members that are given twice; parsing keeps the last.
 * @param entries these connections, parsed, by name.
 */
export function readDeclarations(
  variable: string,
  value: unknown,
  entries: readonly (readonly [string, unknown])[],
): readonly ReadDeclaration[] {
  const repeated = entries.length > 0 && typeof value === "string" ? repeatedMembers(value) : [];
  return entries.map(([name, entry]): ReadDeclaration => {
    const parsed = parseDeclaration(entry);
    const twice = repeated
      .filter(([first]) => first === name)
      .map((path) => ({ path: [variable, ...path].join("."), message: "must not be given twice" }));
    if (parsed.ok && twice.length === 0) {
      return { kind: "valid", name, declaration: parsed.value };
    }
    const faults = parsed.ok ? [] : parsed.error;
    const issues = faults.map(({ path, message }) => ({
      path: [variable, name, ...path].join("."),
      message,
    }));
    return {
      kind: "disabled",
      connection: { name, provider: DECLARED_PROVIDER, issues: [...twice, ...issues] },
    };
  });
}
