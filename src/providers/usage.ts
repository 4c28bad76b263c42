import type { Usage } from "../core/record/upstream.ts";
import { at, decimalOf } from "./json-fields.ts";

/**
 * Amounts that a provider states as the consumption or cost of a job, by their names. An amount that is not stated is
 * null. `usageOf` decides which amounts are stored; core/record/price-rule.ts computes from them what a task costs.
 */
export type Amounts = Readonly<Record<string, number | null>>;

/** Largest size of the stored consumption or cost of a job, in bytes of JSON. */
export const MAX_USAGE_BYTES = 1_024;
const MAX_DEPTH = 3;
/**
 * Pattern of the names of those amounts that are stored: ASCII words with dots between them. Sentences and links do not
 * match.
 */
const NAME = /^[a-z][\w-]*(?:\.[a-z][\w-]*)*$/i;
const MAX_NAME_CHARS = 64;

/**
 * Returns the numbers in the object at a path, by their names. A number in a nested object gets a name with dots, e.g.
 * `tool_usage.web_search`. A string that is a plain decimal number (`"108900"`) counts as that number. Lists, other
 * strings and objects below the third level are left out.
 */
export function amountsAt(value: unknown, ...path: readonly (string | number)[]): Amounts {
  return Object.fromEntries(numbersOf(at(value, ...path), MAX_DEPTH));
}

function numbersOf(value: unknown, depth: number): readonly (readonly [string, number])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const amount = decimalOf(member);
    if (amount !== null) return [[name, amount] as const];
    return numbersOf(member, depth - 1).map(
      ([rest, number]) => [`${name}.${rest}`, number] as const,
    );
  });
}

/**
 * Returns an object with the member `usage`: the amounts of a job that are stored, in their order, as many as fit into
 * 1 KB of JSON. Numbers that parsing may have rounded are left out, and so are amounts whose name is a sentence or a
 * link. The object is empty when no amount is left.
 */
export function usageOf(amounts: Amounts | null): { readonly usage?: Usage } {
  const kept: [string, number][] = [];
  let bytes = "{}".length;
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    if (amount === null || !isExact(amount) || !isUsageName(name)) continue;
    bytes += `"${name}":${amount},`.length;
    if (bytes > MAX_USAGE_BYTES) break;
    kept.push([name, amount]);
  }
  return kept.length === 0 ? {} : { usage: Object.fromEntries(kept) };
}

function isExact(amount: number): boolean {
  return Math.abs(amount) <= Number.MAX_SAFE_INTEGER;
}

/** Tells whether a text can be the name of a stored amount. */
export function isUsageName(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && NAME.test(name);
}
