/**
 * Result of one check by `npm run doctor`, which examines a running relay: what was found, in one line, and
 * how to solve it if it is a problem.
 */
export interface Finding {
  /** A warning may be as the operator wants it, and does not change the exit code. */
  readonly kind: "ok" | "warning" | "problem" | "unchecked";
  readonly text: string;
  /** Advice on how to solve the problem, or how to end the warning. */
  readonly cure?: string;
}

export function ok(text: string): Finding {
  return { kind: "ok", text };
}

export function problem(text: string, cure: string): Finding {
  return { kind: "problem", text, cure };
}

export function warning(text: string, cure: string): Finding {
  return { kind: "warning", text, cure };
}

export function unchecked(text: string): Finding {
  return { kind: "unchecked", text };
}

const LABELS = { ok: "ok", warning: "warning", problem: "PROBLEM", unchecked: "not checked" };

/** Formats the result of a check as one line of text, with the cure. */
export function lineOf({ kind, text, cure }: Finding): string {
  const line = `${LABELS[kind].padEnd(12)} ${text}`;
  return cure === undefined ? line : `${line}. Cure: ${cure}`;
}
