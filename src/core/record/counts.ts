/** Counts for one task: the hooks that changed it, and the polls that changed it while it was open. */
export interface Counts {
  readonly hooks: number;
  readonly polls: number;
}

export const NO_COUNTS: Counts = { hooks: 0, polls: 0 };

/** Returns the record of a task with its count of hooks or polls raised by one. */
export function withOneMore<Counted extends { readonly counts: Counts }>(
  record: Counted,
  what: keyof Counts,
): Counted {
  return { ...record, counts: { ...record.counts, [what]: record.counts[what] + 1 } };
}
