import type { Connection } from "../providers/provider.ts";

/** Until when the links of a result can be opened, in Unix milliseconds. */
export interface LinkEnd {
  readonly at: number;
  /** States that links may live longer, because the operator can choose that at the provider. */
  readonly isLeast: boolean;
}

/** Derives from the provider's documentation until when the links of a job work; null when it says nothing. */
export function linkEndOf(connection: Connection | undefined, endedAt: number): LinkEnd | null {
  const provider = connection?.provider;
  if (provider === undefined || !("linkLife" in provider)) return null;
  const { linkLife } = provider;
  if (linkLife === null || linkLife === "stated") return null;
  return { at: endedAt + linkLife.minMs, isLeast: linkLife.maxMs !== linkLife.minMs };
}
