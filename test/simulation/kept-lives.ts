import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Move } from "./moves.ts";
import { OVERSIZED } from "./oversized.ts";
import { type InitialState, KEY_SETTINGS, OUTPUT_SETTINGS, SUBMIT_SETTINGS } from "./setting.ts";
import type { Violation } from "./task-history.ts";

/**
 * A life that once broke a promise, because the relay or the checker was wrong, with as few moves as possible.
 * It is kept as its moves: its seed would be another life as soon as the generator changes.
 */
export interface KeptLife {
  /** Rule that the life broke. */
  readonly promise: string;
  readonly beginning: InitialState;
  readonly moves: readonly Move[];
}

const FILE = join(import.meta.dirname, "kept-lives.json");

/** Reads kept lives from JSON text, in which results that are too large to be stored stand as their number. */
export function parseKeptLives(text: string): readonly KeptLife[] {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    return "oversized" in value ? OVERSIZED[Number(value.oversized)] : completed(value);
  });
}

/** Returns a configuration or limits with the fields that were added after they were kept; else the same object. */
function completed(value: object): object {
  if ("scheduleMs" in value) {
    return { ...SUBMIT_SETTINGS, ...KEY_SETTINGS, ...OUTPUT_SETTINGS, ...value };
  }
  if ("hookWaitMs" in value && "gapMs" in value) return { isCreationStated: false, ...value };
  return value;
}

export function readKeptLives(): readonly KeptLife[] {
  return parseKeptLives(readFileSync(FILE, "utf8"));
}

/** Returns a shrunk life in the form in which it is kept, as JSON text. */
export function keptText(
  { promise, detail }: Violation,
  beginning: InitialState,
  moves: readonly Move[],
): string {
  // Numbers in brackets belong to this life and not to the rule.
  const kept: KeptLife = {
    promise: `${promise}: ${detail.replace(/ \(.*\)/, "")}`,
    beginning,
    moves,
  };
  return JSON.stringify(kept, (_key, value: unknown) => {
    const oversized = OVERSIZED.findIndex((one) => one === value);
    return oversized < 0 ? value : { oversized };
  });
}

/** Adds a life to the file, one line each. */
export function keepLife(text: string): void {
  const others = readFileSync(FILE, "utf8").replace(/\n\]\s*$/, "");
  writeFileSync(FILE, `${others},\n${text}\n]\n`);
}
