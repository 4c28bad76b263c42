import type { Part } from "./parts.ts";

/** The result of one part of the proof. */
export interface Outcome extends Part {
  readonly isHeld: boolean;
  readonly output: string;
  readonly seconds: number;
  /** File with the output. */
  readonly log: string;
}

/**
 * Returns the line about a part: that it held, or that it is broken, with the line that repeats the break.
 */
export function reportOf(outcome: Outcome): string {
  const { name, command, isHeld, seconds, log } = outcome;
  if (isHeld) return `held    ${name}, in ${Math.round(seconds)} s: ${command}`;
  return `BROKEN  ${name}: ${repeatOf(outcome)} (output: ${log})`;
}

export function isProved(outcomes: readonly Outcome[]): boolean {
  return outcomes.length > 0 && outcomes.every(({ isHeld }) => isHeld);
}

/** Returns the shorter line that a part itself has printed to repeat its break, or else the line that ran it. */
function repeatOf({ command, output }: Outcome): string {
  return /^BROKEN: (npm run .+)$/m.exec(output)?.[1] ?? command;
}
