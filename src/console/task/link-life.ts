import type { Connection } from "../../providers/provider.ts";

/** The end of the time for which the links of a result work, in Unix milliseconds. */
export interface LinkEnd {
  readonly at: number;
  /**
   * True when the links may work longer than until `at`, because the provider documents a shortest and a longest
   * time, or because the operator can set a longer time at the provider.
   */
  readonly isLeast: boolean;
}

/**
 * Returns the time until which the links of a job work, by the documentation of its provider. Null means that the
 * documentation states no such time, or that each job states its own.
 */
export function linkEndOf(connection: Connection | undefined, endedAt: number): LinkEnd | null {
  const provider = connection?.provider;
  if (provider === undefined || !("linkLife" in provider)) return null;
  const { linkLife } = provider;
  if (linkLife === null || linkLife === "stated") return null;
  return { at: endedAt + linkLife.minMs, isLeast: linkLife.maxMs !== linkLife.minMs };
}
