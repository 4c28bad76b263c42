/** Two numbers that a task counts: the hooks and the polls that have changed it. */
export interface Counts {
  readonly hooks: number;
  readonly polls: number;
}

export const NO_COUNTS: Counts = { hooks: 0, polls: 0 };

/** Returns the record of a task with one of its two counts, hooks or polls, raised by one. */
export function withOneMore<Counted extends { readonly counts: Counts }>(
  record: Counted,
  what: keyof Counts,
): Counted {
  return { ...record, counts: { ...record.counts, [what]: record.counts[what] + 1 } };
}
