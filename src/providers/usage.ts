import type { Usage } from "../core/record/upstream.ts";
import { at } from "./json-fields.ts";

/**
 * Amounts that a provider states for a job, by their names; an amount is null when it is not stated. `usageOf`
 * decides which of them are kept.
 */
export type Amounts = Readonly<Record<string, number | null>>;

/** Largest size, in bytes of JSON, of the amounts of a job that are kept. */
const MAX_USAGE_BYTES = 1_024;
const MAX_DEPTH = 3;
/**
 * Pattern of the names of the amounts that are kept: ASCII words with dots between them, and no sentences or
 * links.
 */
const NAME = /^[a-z][\w-]*(?:\.[a-z][\w-]*)*$/i;
const MAX_NAME_CHARS = 64;

/**
 * Reads the numbers of an object at a path. A number of a nested object gets a name with dots, e.g.
 * `tool_usage.web_search`; lists, texts and deeper objects than three levels are left out.
 */
export function amountsAt(value: unknown, ...path: readonly (string | number)[]): Amounts {
  return Object.fromEntries(numbersOf(at(value, ...path), MAX_DEPTH));
}

function numbersOf(value: unknown, depth: number): readonly (readonly [string, number])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    if (typeof member === "number") return [[name, member] as const];
    return numbersOf(member, depth - 1).map(
      ([rest, number]) => [`${name}.${rest}`, number] as const,
    );
  });
}

/**
 * Returns the amounts of a job that are kept: in their order, as many as fit in 1 KB of JSON. Left out are
 * numbers that parsing may have rounded, and those whose name is a sentence or a link. No field when none is
 * left.
 */
export function usageOf(amounts: Amounts | null): { readonly usage?: Usage } {
  const kept: [string, number][] = [];
  let bytes = "{}".length;
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    if (amount === null || !isExact(amount) || !isName(name)) continue;
    bytes += `"${name}":${amount},`.length;
    if (bytes > MAX_USAGE_BYTES) break;
    kept.push([name, amount]);
  }
  return kept.length === 0 ? {} : { usage: Object.fromEntries(kept) };
}

function isExact(amount: number): boolean {
  return Math.abs(amount) <= Number.MAX_SAFE_INTEGER;
}

function isName(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && NAME.test(name);
}
