/** A fault of the configuration. It names a variable and never contains the value of a variable. */
export interface ConfigIssue {
  /** Name of the variable that has the fault. */
  readonly path: string;
  /**
   * Description of the fault, as the rest of a sentence that begins with the name of the variable, e.g. "must be
   * true or false".
   */
  readonly message: string;
}

/** Returns one sentence about the faults. It names the variables and contains none of their values. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  return `${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`;
}
