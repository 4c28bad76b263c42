import type { CallbackEvent } from "../../../../src/core/record/callback-events.ts";

/** An endpoint as it is from one change to the next. */
export interface EndpointState {
  readonly url: string;
  /** Value of its header `X-Endpoint-Token`; null when it has no headers. */
  readonly token: string | null;
  /** Its waits in seconds; null when those of the settings hold. */
  readonly scheduleS: readonly number[] | null;
  readonly events: readonly CallbackEvent[];
  /** Name of the secret that signs its callbacks. */
  readonly signer: SignerName;
}

/** Name of a secret that signs callbacks. */
export interface SignerName {
  /** Owner of the secret, `relay` or an account; for a secret of an endpoint's own, a name that all its generations share. */
  readonly chain: string;
  /** 0 for the secret of an account or the relay. */
  readonly generation: number;
}

/** A request and its answer, in Unix milliseconds. Repetitions of the request are in between. */
export interface Span {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** A change of an endpoint. `state` is null when it was deleted. */
export interface EndpointChange extends Span {
  readonly state: EndpointState | null;
}

/**
 * Returns what an endpoint may have been at a moment of a span: nothing (null) before its first change, and each state from
 * the moment at which its change was sent until the next change was answered.
 */
export function statesWithin(
  changes: readonly EndpointChange[],
  { sentAt, answeredAt }: Span,
): readonly (EndpointState | null)[] {
  const beginning = { state: null, sentAt: -Infinity };
  const states = [beginning, ...changes];
  return states.flatMap(({ state, sentAt: from }, i) => {
    const until = changes[i]?.answeredAt ?? Infinity;
    return from <= answeredAt && until >= sentAt ? [state] : [];
  });
}
