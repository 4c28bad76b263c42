/** Statement why a provider makes no report of a kind, e.g. "A hook is sent at the end of a job only." */
export interface Exempt {
  readonly exempt: string;
}
