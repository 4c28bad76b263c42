import { Random } from "../../../simulation/random.ts";
import { type FirstAnswer, type SourceFile, videoBytes } from "../../outputs/output-source.ts";

const MIB = 1024 * 1024;
/** Largest output of which the relay of this test keeps a copy, in MiB. */
export const MAX_OUTPUT_MB = 20;
/** Smallest length of an output that takes one call of the bucket. Each task adds its number, so that all differ. */
const SMALL_BYTES = 200_000;
/** Length of an output of unknown length that is stored in three parts. */
const LARGE_BYTES = 17 * MIB;

/** Time in milliseconds within which an order to delete comes after the result, so that it meets copies under way. */
const MAX_PAUSE_MS = 1_500;

/** Order of the operator to delete what a task has generated. */
export interface Deletion {
  /** The whole task, or its first output alone. */
  readonly of: "task" | "output";
  /** Pause before the order, in milliseconds. */
  readonly pauseMs: number;
}

/** Plan of one task of the test: the files that its upstream has, and what happens to it. */
export interface TaskPlan {
  readonly id: string;
  readonly files: readonly SourceFile[];
  readonly deletion: Deletion | null;
}

const SIZES = [
  [90, "small"],
  [7, "large"],
  [3, "endless"],
] as const;
const FIRST_ANSWERS: readonly (readonly [weight: number, answer: FirstAnswer])[] = [
  [80, "whole"],
  [12, "cut off"],
  [8, "unavailable"],
];
const DELETIONS = [
  [86, null],
  [7, "task"],
  [7, "output"],
] as const;

/** Returns the plan of the task number `nth` of a run, which depends only on the seed and this number. */
export function planOf(seed: number, nth: number): TaskPlan {
  const random = new Random(seed * 1_000_003 + nth);
  const id = `${hex(seed, 8)}-0000-4000-8000-${hex(nth, 12)}`;
  const files = Array.from({ length: 1 + random.below(2) }, (_, index) => {
    const size = random.weighted(SIZES);
    const firstAnswer = random.weighted(FIRST_ANSWERS);
    const length = size === "small" ? SMALL_BYTES + nth : LARGE_BYTES;
    const bytes = videoBytes(`${id} ${index}`, length);
    const isLengthStated = size === "small" && random.isLucky(0.7);
    return { bytes, isLengthStated, firstAnswer, isEndless: size === "endless" };
  });
  const of = random.weighted(DELETIONS);
  const pauseMs = random.next() * MAX_PAUSE_MS;
  return { id, files, deletion: of === null ? null : { of, pauseMs } };
}

function hex(value: number, digits: number): string {
  return (value % 16 ** digits).toString(16).padStart(digits, "0");
}

/** The end of an output: it is kept, or GET has this reason why it is not. */
export type OutputEnd = "kept" | "too_large" | "deleted";

/** Returns the end that each output of a task must have; null for an erased task. */
export function endsOf({ files, deletion }: TaskPlan): readonly OutputEnd[] | null {
  if (deletion?.of === "task") return null;
  return files.map(({ isEndless }, index) => {
    if (deletion !== null && index === 0) return "deleted";
    return isEndless === true ? "too_large" : "kept";
  });
}
