import { expect, it } from "vitest";
import { Choices } from "./choices.ts";

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

/** What must hold of every input of one parser. */
export interface Border<T> {
  /** A sentence that states it. */
  readonly promise: string;
  readonly cases: number;
  readonly generate: (choices: Choices) => T;
  /** Whether the input was taken. @throws when the promise is broken. */
  readonly check: (input: T) => boolean | Promise<boolean>;
  /** Cases that may run at the same time; only without common state. */
  readonly atOnce?: number;
  /** The least share of the cases that must be taken, and refused, for the rest to mean something. */
  readonly leastShare?: number;
}

const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_121);
/** Share of each border's cases; 1 in the long run, more for a longer search. */
const SCALE = Number(process.env["FUZZ_SCALE"] ?? 0.05);
const MAX_TRIES = 3_000;
const MAX_SHOWN_CHARS = 4_000;
const LEAST_SHARE = 0.01;

/** Says how this file can be repeated. */
export function announce(what: string): void {
  console.info(`fuzz of ${what}: FUZZ_SEED=${SEED}`);
}

/** One test that runs all cases of a border, and shows the first that fails as small as it can be made. */
export function fuzz<T>(usual: Border<T>): void {
  const border = { ...usual, cases: Math.ceil(usual.cases * SCALE) };
  it(`${border.promise}, in ${border.cases} cases`, async () => {
    const taken = await run(border);
    const share = (border.leastShare ?? LEAST_SHARE) * border.cases;
    expect(taken).toBeGreaterThanOrEqual(share);
    expect(border.cases - taken).toBeGreaterThanOrEqual(share);
  });
}

async function run<T>(border: Border<T>): Promise<number> {
  const { cases, atOnce = 1 } = border;
  // Most cases end in an error that nobody reads; its stack takes longer than all the rest.
  Reflect.set(Error, "stackTraceLimit", 0);
  let taken = 0;
  for (let first = 0; first < cases; first += atOnce) {
    const pending: Promise<boolean>[] = [];
    for (let number = first; number < Math.min(first + atOnce, cases); number++) {
      const verdict = judged(border, number);
      if (typeof verdict === "boolean") taken += Number(verdict);
      else pending.push(verdict);
    }
    if (pending.length === 0) continue;
    for (const isTaken of await Promise.all(pending)) taken += Number(isTaken);
  }
  return taken;
}

function judged<T>(border: Border<T>, number: number): boolean | Promise<boolean> {
  try {
    const verdict = border.check(border.generate(Choices.ofCase(SEED, number)));
    if (typeof verdict === "boolean") return verdict;
    return verdict.catch((error: unknown) => told(border, number, error));
  } catch (error) {
    return told(border, number, error);
  }
}

/** @throws an error that says all that is needed to repeat the case. */
async function told<T>(border: Border<T>, number: number, error: unknown): Promise<never> {
  Reflect.set(Error, "stackTraceLimit", 10);
  const kept = Choices.ofCase(SEED, number, true);
  border.generate(kept);
  const drawn = await smallest(border, kept.drawn);
  const input = shown(border.generate(Choices.again(drawn)));
  const cause = (await failureOf(border, drawn)) ?? error;
  throw new Error(`FUZZ_SEED=${SEED}, case ${number}: ${textOf(cause)}\n${input}`);
}

/** Greedily: without this part, with plainer choices here, as long as it still fails. */
async function smallest<T>(
  border: Border<T>,
  drawn: readonly number[],
): Promise<readonly number[]> {
  let best = drawn;
  let tries = 0;
  for (let size = best.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.length && tries < MAX_TRIES;) {
      const [head, rest] = [best.slice(0, from), best.slice(from + size)];
      const part = best.slice(from, from + size);
      const plainer = [
        [...head, ...rest],
        [...head, ...part.map(() => 0), ...rest],
        [...head, ...part.map((one) => one / 2), ...rest],
      ];
      let better: readonly number[] | null = null;
      for (const candidate of plainer) {
        tries++;
        if (sum(candidate) < sum(best) && (await failureOf(border, candidate)) !== null) {
          better = candidate;
          break;
        }
      }
      if (better === null) from += size;
      else best = better;
    }
  }
  return best;
}

async function failureOf<T>(border: Border<T>, drawn: readonly number[]): Promise<unknown> {
  try {
    await border.check(border.generate(Choices.again(drawn)));
    return null;
  } catch (error) {
    return error;
  }
}

/** Fewer choices count for more than smaller ones. */
function sum(drawn: readonly number[]): number {
  return drawn.reduce((total, one) => total + 1 + one, 0);
}

function shown(input: unknown): string {
  const text = JSON.stringify(input, (_key, value: unknown) => {
    if (value instanceof URLSearchParams) return value.toString();
    if (value instanceof Headers) return [...value];
    if (value instanceof Uint8Array) return { utf8: new TextDecoder().decode(value) };
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  });
  return (text ?? String(input)).slice(0, MAX_SHOWN_CHARS);
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
