/** One fault of the configuration. It names a variable and never repeats a value. */
export interface ConfigIssue {
  /** Name of the variable. */
  readonly path: string;
  /** Continues the name, e.g. "must be true or false". */
  readonly message: string;
}

/** Describes the faults in one sentence that names the variables and none of their values. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  return `${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`;
}
