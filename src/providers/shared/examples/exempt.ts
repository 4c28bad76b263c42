/**
 * Reason why there is no example of a certain kind of report for a provider, e.g. "A hook is sent at the end of a job
 * only."
 */
export interface Exempt {
  readonly exempt: string;
}
