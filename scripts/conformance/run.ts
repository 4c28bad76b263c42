import { randomUUID } from "node:crypto";
import { type ConformanceCase, casesOf } from "./cases.ts";
import type { Scheme } from "./keys.ts";
import type { Observation } from "./judge.ts";
import { report, type Result } from "./report.ts";
import { RequestBuilder } from "./requests.ts";
import { send, Unreachable } from "./send.ts";

/** The receiver to test, the secret or key that it verifies with, and the time within which it must answer. */
export interface ConformanceTarget {
  readonly url: URL;
  readonly scheme: Scheme;
  /** Time within which the receiver must answer, in seconds. */
  readonly timeoutS: number;
  /** States that the receiver asks for progress. */
  readonly hasProgress: boolean;
}

/** Number of requests in a row without an answer in time after which no further request is sent. */
const MAX_TIMEOUTS = 3;

/**
 * Plays all cases against a receiver.
 * @param print receives each line of the report.
 * @returns true when the receiver was right in all of them.
 * @throws Unreachable when the first request finds no receiver.
 */
export async function runConformance(
  target: ConformanceTarget,
  print: (line: string) => void,
): Promise<boolean> {
  const results: Result[] = [];
  const cases = casesOf(target.scheme.name, target.hasProgress);
  for (const each of cases) {
    results.push(...(await play(each, target, results.length === 0)));
    if (isHopeless(results)) break;
  }
  return report(results, cases, print);
}

function isHopeless(results: readonly Result[]): boolean {
  const latest = results.slice(-MAX_TIMEOUTS);
  const timeouts = latest.filter(({ seen }) => seen.kind === "timeout").length;
  return timeouts === MAX_TIMEOUTS || latest.at(-1)?.seen.kind === "gone";
}

async function play(
  each: ConformanceCase,
  { url, scheme, timeoutS }: ConformanceTarget,
  isFirst: boolean,
): Promise<Result[]> {
  const results: Result[] = [];
  const builder = new RequestBuilder(scheme, randomUUID(), Math.floor(Date.now() / 1000));
  for (const { expected, request, preparation } of await each.requests(builder)) {
    const seen = await send(url, request, timeoutS).catch((error: unknown): Observation => {
      if (isFirst || !(error instanceof Unreachable)) throw error;
      return { kind: "gone" };
    });
    results.push({ name: each.name, particular: preparation ?? each, expected, seen });
  }
  return results;
}
