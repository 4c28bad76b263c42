/** Result of one check, in one line. */
export interface Finding {
  readonly kind: "ok" | "problem" | "unchecked";
  readonly text: string;
  /** Action that solves the problem. */
  readonly cure?: string;
}

export function ok(text: string): Finding {
  return { kind: "ok", text };
}

export function problem(text: string, cure: string): Finding {
  return { kind: "problem", text, cure };
}

export function unchecked(text: string): Finding {
  return { kind: "unchecked", text };
}

const LABELS = { ok: "ok", problem: "PROBLEM", unchecked: "not checked" };

/** Writes a finding as one line, with its cure. */
export function lineOf({ kind, text, cure }: Finding): string {
  const line = `${LABELS[kind].padEnd(12)} ${text}`;
  return cure === undefined ? line : `${line}. Cure: ${cure}`;
}
