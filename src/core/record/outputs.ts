import { OTHER_TYPE } from "../output-metadata/media-type.ts";
import type { OutputLinks } from "../policy.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../time.ts";
import type { Retry } from "./retry.ts";
import {
  MAX_STORED_FILES,
  proofOf,
  type Provable,
  type StoredAnswer,
  type StoredFile,
} from "./upstream.ts";

/**
 * The outputs of a task (files that it has generated) to which `output.urls` has links of the relay. Which outputs get
 * such links is decided when the result is recorded, so that the callback body never changes afterwards.
 */
export interface Outputs extends Provable {
  /** Time from which the relay refuses its own links to these outputs, in Unix milliseconds; a multiple of 1,000. */
  readonly expiresAt: number;
  /**
   * The outputs with links of the relay, in the order of their numbers. Outputs that keep the upstream's own link are
   * left out.
   */
  readonly list: readonly Output[];
  /**
   * Plan of the next order to copy the outputs, and to delete the copies of deleted ones. Null when no output is copied
   * or deleted, and when the object that copies outputs (objects/output) has accepted an order: it then reports the end
   * of each copy.
   */
  readonly order: Retry | null;
  /**
   * Place in the bucket of the upstream's answer to the call that started the job. Absent when the answer is not stored
   * there.
   */
  readonly answer?: StoredAnswer;
}

export interface Output {
  /** Number of the output: its position in `output.urls`, counted from 1. */
  readonly number: number;
  /** The upstream's own link to the output. Null for a file that was in the upstream's answer. */
  readonly source: string | null;
  readonly state: OutputState;
}

/**
 * State of the relay's copy of an output:
 * - `copying`: the copy is being made.
 * - `kept`: the copy is available.
 * - `lost`: the copy could not be made and was given up.
 * - `streamed`: the output is not copied, because the upstream's link to it needs a key; for each request the relay
 *   fetches the output from the upstream and passes it on.
 * - `deleted`: the output was deleted. The relay's link to it is refused as soon as there is no copy.
 */
export type OutputState =
  | { readonly kind: "copying" | "streamed" }
  | {
      readonly kind: "deleted";
      /**
       * True while the object that keeps outputs (objects/output) has not confirmed that there is no copy and will be
       * none. Absent afterwards, and when there was no copy.
       */
      readonly isUnconfirmed?: true;
    }
  | EndedCopy;

/** How the copy of an output has ended: it is available, or it was given up for a stated reason. */
export type EndedCopy =
  | {
      readonly kind: "kept";
      readonly bytes: number;
      /** Media type of the output, found by its first bytes (core/output-metadata/media-type.ts). */
      readonly mediaType: string;
    }
  | { readonly kind: "lost"; readonly reason: LossReason };

export type LossReason = (typeof LOSS_REASONS)[number];

/**
 * Reasons why an output was not copied:
 * - `too_large`: it has more than `MAX_OUTPUT_MB`.
 * - `empty`: it has no bytes.
 * - `refused`: the upstream answered with a status of refusal, e.g. because its link was dead.
 * - `unreachable`: at every try the upstream did not answer, broke off, was too slow, or answered with a success that
 *   is not the output (202).
 * - `blocked`: its link led to a URL from which the relay must not fetch.
 * - `not_stored`: the relay could not store it.
 */
export const LOSS_REASONS = [
  "too_large",
  "empty",
  "refused",
  "unreachable",
  "blocked",
  "not_stored",
] as const;

/** Largest number of outputs of a task to which the relay makes links of its own. */
const MAX_LINKED_OUTPUTS = MAX_STORED_FILES;

/**
 * Time in milliseconds after which the order to copy or delete the outputs of a task is repeated. The first order is
 * sent as soon as the result or the deletion is stored, and most copies have ended before the repetition.
 */
const REPEAT_ORDER_MS = MINUTE_MS;

/** The part of a task on which the links to its outputs depend. */
interface LinkedTask {
  readonly id: string;
  readonly recordedAt: number;
  readonly origin: string;
  readonly upstream: { readonly connection: string } | null;
}

/** The outputs of a result: links, files that were in the answer, and the place of the answer. */
interface LinkedResult extends Provable {
  readonly urls: readonly string[];
  readonly files?: readonly StoredFile[];
  readonly storedAnswer?: StoredAnswer;
}

/**
 * Returns the links to the outputs of a result: first to the files that were in the answer, which are in the bucket
 * already. Of the outputs with links, so many get links of the relay that there are at most `MAX_LINKED_OUTPUTS`, except
 * those that the relay must not fetch; all other outputs keep the upstream's own links.
 * @returns the links, and the data that the record stores about outputs with a link of the relay (null when there are
 * none).
 */
export function linkOutputs(
  task: LinkedTask,
  result: LinkedResult,
  { areKept, lifeMs, linkTo, linkToFile }: OutputLinks,
  now: number,
): { readonly urls: readonly string[]; readonly outputs: Outputs | null } {
  const expiresAtS = toSeconds(now + lifeMs);
  const { files = [], storedAnswer } = result;
  const list: Output[] = [];
  const proof = proofOf(result);
  const state: OutputState = { kind: areKept ? "copying" : "streamed" };
  const aboutOutput = (number: number) => {
    return { taskId: task.id, number, expiresAtS, recordedAt: task.recordedAt };
  };
  const fileLinks = files.map((file, index) => {
    const number = index + 1;
    list.push({ number, source: null, state: { kind: "kept", ...file } });
    return linkToFile({ ...aboutOutput(number), mediaType: file.mediaType });
  });
  const links = result.urls.map((source, index) => {
    const number = files.length + index + 1;
    const { origin, upstream } = task;
    const isLinked = list.length < MAX_LINKED_OUTPUTS;
    const place = { source, origin, connection: upstream?.connection ?? null, ...proof };
    const link = isLinked ? linkTo({ ...aboutOutput(number), ...place }) : null;
    if (link !== null) list.push({ number, source, state });
    return link ?? source;
  });
  const urls = [...fileLinks, ...links];
  if (list.length === 0 && storedAnswer === undefined) return { urls, outputs: null };
  const order = areKept ? plannedOrder(now) : null;
  const answer = storedAnswer === undefined ? {} : { answer: storedAnswer };
  const expiresAt = expiresAtS * SECOND_MS;
  return { urls, outputs: { expiresAt, list, order, ...answer, ...proof } };
}

/**
 * Returns the upstream's own links to the outputs of a result, in the order of the outputs. The link of a file that was
 * in the upstream's answer is the relay's.
 * @param urls links in the callback body, each either the relay's or the upstream's own.
 */
export function sourceUrls(urls: readonly string[], outputs: Outputs | null): readonly string[] {
  const sources = new Map(outputs?.list.map(({ number, source }) => [number, source]));
  return urls.map((url, index) => sources.get(index + 1) ?? url);
}

/** Tells whether the relay may still need a key to fetch outputs of a task, to copy them or to pass them on. */
export function areFetchedWithKey({ list, isUnproven }: Outputs): boolean {
  if (isUnproven === true) return false;
  return list.some(({ state }) => state.kind === "copying" || state.kind === "streamed");
}

/**
 * Returns the outputs for which the object that keeps outputs (objects/output) is responsible: those whose copies have
 * not ended and, because nothing else would delete them, the files that were in the answer. The answer itself is one of
 * them, with number 0, if it is no output.
 */
export function orderedOutputs({ list, answer }: Outputs): readonly Output[] {
  const ordered = list.filter(
    ({ source, state }) => state.kind === "copying" || (source === null && state.kind === "kept"),
  );
  return [...skeletonOf(answer), ...ordered];
}

/** Returns the numbers of the deleted outputs whose copies may still exist, or may still be made. */
export function unconfirmedDeletions({ list }: Pick<Outputs, "list">): readonly number[] {
  return list.flatMap(({ number, state }) =>
    state.kind === "deleted" && state.isUnconfirmed === true ? [number] : [],
  );
}

/**
 * Returns the plan of the order that follows a result or a deletion unless the order that was sent at once has been
 * confirmed by then.
 */
export function plannedOrder(now: number): Retry {
  return { retryAt: now + REPEAT_ORDER_MS, tries: 0 };
}

/** Returns the outputs whose copies are deleted when the task is erased, in the form of `orderedOutputs`. */
export function storedOutputs({ list, answer }: Outputs): readonly Output[] {
  return [...skeletonOf(answer), ...list.filter(({ state }) => state.kind !== "streamed")];
}

function skeletonOf(answer: StoredAnswer | undefined): readonly Output[] {
  if (answer === undefined || answer.number !== 0) return [];
  const { number, bytes, contentType } = answer;
  const mediaType = contentType ?? OTHER_TYPE;
  return [{ number, source: null, state: { kind: "kept", bytes, mediaType } }];
}

/**
 * Tells whether the files that were in the answer to the call of a submission, or the answer itself, are kept for the
 * task.
 */
export function hasStoredFiles({ list, answer }: Outputs): boolean {
  return answer !== undefined || list.some(({ source }) => source === null);
}
