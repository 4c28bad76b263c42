import { toSeconds, SECOND_MS } from "../time.ts";
import type { OutputLinks } from "../policy.ts";

/**
 * Outputs of a task (files that it has generated) for which `output.urls` has links of the relay. They are decided when
 * the result is recorded, so that the callback body is final at once.
 */
export interface Outputs {
  /** Time from which the relay refuses its links, in Unix milliseconds; a whole second. */
  readonly expiresAt: number;
  /** The outputs in the order of their numbers. Outputs that keep the upstream's own link are not among them. */
  readonly list: readonly Output[];
}

export interface Output {
  /** Number of the output: its place in `output.urls`, counted from 1. */
  readonly number: number;
  /** The upstream's own link to the output. */
  readonly source: string;
}

/** Largest number of outputs of a task for which the relay has links of its own. */
export const MAX_LINKED_OUTPUTS = 32;

/** The part of a task on which the links to its outputs depend. */
interface LinkedTask {
  readonly id: string;
  readonly createdAt: number;
  readonly recordedAt: number | null;
  readonly origin: string;
  readonly upstream: { readonly connection: string } | null;
}

/**
 * Returns the links to the outputs of a result: those of the relay for its first outputs, and the upstream's own for those
 * that the relay may not fetch and those beyond the largest number.
 * @param outputs what is stored of the outputs with a link of the relay; null when there are none.
 */
export function linkOutputs(
  task: LinkedTask,
  sources: readonly string[],
  { lifeMs, linkTo }: OutputLinks,
  now: number,
): { readonly urls: readonly string[]; readonly outputs: Outputs | null } {
  const expiresAtS = toSeconds(now + lifeMs);
  const list: Output[] = [];
  const urls = sources.map((source, index) => {
    const number = index + 1;
    const about = { taskId: task.id, number, expiresAtS, recordedAt: lifeOf(task) };
    const { origin, upstream } = task;
    const isLinked = list.length < MAX_LINKED_OUTPUTS;
    const place = { source, origin, connection: upstream?.connection ?? null };
    const link = isLinked ? linkTo({ ...about, ...place }) : null;
    if (link !== null) list.push({ number, source });
    return link ?? source;
  });
  return { urls, outputs: list.length === 0 ? null : { expiresAt: expiresAtS * SECOND_MS, list } };
}

/** Returns the upstream's own links of a result, in order. @param urls links in the callback body. */
export function sourceUrls(urls: readonly string[], outputs: Outputs | null): readonly string[] {
  const sources = new Map(outputs?.list.map(({ number, source }) => [number, source]));
  return urls.map((url, index) => sources.get(index + 1) ?? url);
}

/**
 * Returns the number that tells a task from others under the same id in the links to its outputs: the time at which its
 * record was created, in Unix milliseconds; for a record of an earlier release, which did not store this time, the
 * creation of the task.
 */
export function lifeOf({ recordedAt, createdAt }: Omit<LinkedTask, "id" | "origin" | "upstream">) {
  return recordedAt ?? createdAt;
}
