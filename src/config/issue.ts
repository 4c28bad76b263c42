/** A fault of the configuration. It names a variable and never contains a value. */
export interface ConfigIssue {
  /** Name of the variable that has the fault. */
  readonly path: string;
  /** Rest of a sentence that begins with the name of the variable, e.g. "must be true or false". */
  readonly message: string;
}

/** Describes the faults in one sentence that names the variables and none of their values. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  return `${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`;
}
