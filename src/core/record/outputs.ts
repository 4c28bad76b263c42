import type { OutputLinks } from "../policy.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../time.ts";
import type { Retry } from "./credits.ts";
import { proofOf, type Provable } from "./upstream.ts";

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
   * Plan of the next order to copy the outputs. Null when no output is copied, and when the object that copies outputs
   * (objects/output) has accepted an order: it then reports the end of each copy.
   */
  readonly order: Retry | null;
}

export interface Output {
  /** Number of the output: its position in `output.urls`, counted from 1. */
  readonly number: number;
  /** The upstream's own link to the output. */
  readonly source: string;
  readonly state: OutputState;
}

/**
 * State of the relay's copy of an output:
 * - `copying`: the copy is being made.
 * - `kept`: the copy is available.
 * - `lost`: the copy could not be made and was given up.
 * - `streamed`: the output is not copied, because the upstream's link to it needs a key; for each request the relay
 *   fetches the output from the upstream and passes it on.
 * - `deleted`: the operator has deleted the copy, and the relay's link is refused.
 */
export type OutputState = { readonly kind: "copying" | "streamed" | "deleted" } | EndedCopy;

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
const MAX_LINKED_OUTPUTS = 32;

/**
 * Time in milliseconds after which the order to copy the outputs of a task is repeated. The first order is sent as soon
 * as the result is stored, and most copies have ended before the repetition.
 */
const REPEAT_ORDER_MS = MINUTE_MS;

/** The part of a task on which the links to its outputs depend. */
interface LinkedTask {
  readonly id: string;
  readonly recordedAt: number;
  readonly origin: string;
  readonly upstream: { readonly connection: string } | null;
}

/**
 * Returns the links to the outputs of a result. The first `MAX_LINKED_OUTPUTS` outputs get links of the relay, except
 * those that the relay must not fetch; all other outputs keep the upstream's own links.
 * @returns the links, and the data that the record stores about outputs with a link of the relay (null when there are
 * none).
 */
export function linkOutputs(
  task: LinkedTask,
  result: { readonly urls: readonly string[] } & Provable,
  { areKept, lifeMs, linkTo }: OutputLinks,
  now: number,
): { readonly urls: readonly string[]; readonly outputs: Outputs | null } {
  const expiresAtS = toSeconds(now + lifeMs);
  const list: Output[] = [];
  const proof = proofOf(result);
  const state: OutputState = { kind: areKept ? "copying" : "streamed" };
  const urls = result.urls.map((source, index) => {
    const number = index + 1;
    const about = { taskId: task.id, number, expiresAtS, recordedAt: task.recordedAt };
    const { origin, upstream } = task;
    const isLinked = list.length < MAX_LINKED_OUTPUTS;
    const place = { source, origin, connection: upstream?.connection ?? null, ...proof };
    const link = isLinked ? linkTo({ ...about, ...place }) : null;
    if (link !== null) list.push({ number, source, state });
    return link ?? source;
  });
  if (list.length === 0) return { urls, outputs: null };
  const order = areKept ? { retryAt: now + REPEAT_ORDER_MS, tries: 0 } : null;
  return { urls, outputs: { expiresAt: expiresAtS * SECOND_MS, list, order, ...proof } };
}

/**
 * Returns the upstream's own links to the outputs of a result, in the order of the outputs.
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

/** Returns the outputs whose copies have not ended. */
export function copyingOutputs({ list }: Outputs): readonly Output[] {
  return list.filter(({ state }) => state.kind === "copying");
}
