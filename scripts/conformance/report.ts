import type { ConformanceCase, Expected, Particular } from "./cases.ts";
import {
  EXPECTATIONS,
  faultOf,
  isAccepted,
  isRefused,
  type Observation,
  wordsFor,
} from "./judge.ts";

/** A request that was sent, and what the receiver did. */
export interface Result {
  /** Name of the case. */
  readonly name: string;
  readonly particular: Particular;
  readonly expected: Expected["expected"];
  readonly seen: Observation;
}

/**
 * Prints a line for each request, what the receiver got wrong, and what could not be seen.
 * @param cases all cases, the last of which may not have been played.
 * @returns true when the receiver was right in all of them.
 */
export function report(
  results: readonly Result[],
  cases: readonly ConformanceCase[],
  print: (line: string) => void,
): boolean {
  for (const result of results) print(lineFor(result));
  const wrong = results.filter(isWrong);
  print(`${results.length} requests, ${wrong.length} answered wrongly`);
  const played = new Set(results.map(({ name }) => name));
  const rest = cases.filter(({ name }) => !played.has(name)).map(({ name }) => name);
  if (rest.length > 0) print(`Not played: ${rest.join(", ")}`);
  for (const sentence of faultsIn(results)) print(sentence);
  const repetitions = results.filter(({ expected, seen }) => {
    return expected === "acknowledge" && isAccepted(seen) && seen.acted === null;
  });
  if (repetitions.length > 0) print(UNSEEN);
  return wrong.length === 0 && rest.length === 0;
}

const UNSEEN =
  "Not seen: whether the receiver acted twice on a repeated request. It can say so with X-Acted: yes or no.";

function lineFor(result: Result): string {
  const { name, expected, seen } = result;
  const mark = isWrong(result) ? "WRONG" : "right";
  return `${mark}  ${name.padEnd(20)}  expected ${EXPECTATIONS[expected]}: ${wordsFor(seen)}`;
}

function isWrong(result: Result): boolean {
  return sentenceFor(result) !== null;
}

function sentenceFor({ particular, expected, seen }: Result): string | null {
  return faultOf(particular, expected, seen);
}

/** Kinds of faults that are reported in one sentence instead of one sentence for each request. */
const GENERAL_FAULTS: readonly {
  readonly of: "genuine" | "forged" | "all";
  readonly isSeen: (seen: Observation) => boolean;
  /** Builds the sentence about the fault. @param seen statuses, or other words for the receiver's answers. */
  readonly sentence: (seen: string) => string;
}[] = [
  {
    of: "all",
    isSeen: ({ kind }) => kind === "timeout",
    sentence: (seen) => `It answers nothing: ${seen}.`,
  },
  {
    of: "genuine",
    isSeen: (seen) => seen.kind === "answer" && [404, 405].includes(seen.status),
    sentence: (seen) =>
      `It refuses every genuine request (${seen}): --to is probably not the URL of the receiver.`,
  },
  {
    of: "genuine",
    isSeen: (seen) => seen.kind === "answer" && !isAccepted(seen),
    sentence: (seen) =>
      `It refuses every genuine request (${seen}): its secret is not the one of --secret; or it does not verify the bytes that arrive; or it computes the signature in another way than docs/receive.md#without-a-library says.`,
  },
  {
    of: "forged",
    isSeen: isAccepted,
    sentence: () =>
      "It accepts every forged request: it does not verify the signature, or answers before it does.",
  },
  {
    of: "forged",
    isSeen: (seen) => isRefused(seen) && seen.acted === true,
    sentence: () => "It acts on every forged request before it refuses it.",
  },
  {
    of: "forged",
    isSeen: (seen) => seen.kind === "answer" && !isAccepted(seen) && !isRefused(seen),
    sentence: (seen) => `It answers every forged request with ${seen} instead of 4xx.`,
  },
];

/**
 * Lists the faults of the receiver, each once. A fault in all requests of a kind is listed as one sentence.
 */
function faultsIn(results: readonly Result[]): readonly string[] {
  const sentences: string[] = [];
  let rest = results;
  for (const { of, isSeen, sentence } of GENERAL_FAULTS) {
    const those = rest.filter(
      ({ expected }) => of === "all" || (expected === "refuse") === (of === "forged"),
    );
    if (those.length === 0 || !those.every((each) => isSeen(each.seen))) continue;
    const seen = those.map((each) => {
      return each.seen.kind === "answer" ? each.seen.status : wordsFor(each.seen);
    });
    sentences.push(sentence([...new Set(seen)].join(", ")));
    rest = rest.filter((result) => !those.includes(result));
  }
  return [...new Set([...sentences, ...rest.flatMap((result) => sentenceFor(result) ?? [])])];
}
