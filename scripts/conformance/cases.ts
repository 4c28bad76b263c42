import { FORGED } from "./forged-cases.ts";
import { GENUINE } from "./genuine-cases.ts";
import { PROGRESS } from "./progress-cases.ts";
import type { RequestBuilder, SentRequest } from "./requests.ts";

/**
 * The right behaviour of a receiver: `act` answers 2xx and does its work, `acknowledge` answers 2xx without doing it
 * once more, `accept` answers 2xx, whatever the receiver does with it, `refuse` answers 4xx and does nothing.
 */
type Expectation = "act" | "acknowledge" | "accept" | "refuse";

/** The way in which a request differs from an ordinary one, and why a receiver may answer it wrongly. */
export interface Particular {
  /** A clause about the request that follows "when" or "although". */
  readonly when: string;
  /** A clause about the receiver, which it calls "it". */
  readonly reason: string;
}

/** A request of a case, with the right behaviour of a receiver that gets it. */
export interface Expected {
  readonly expected: Expectation;
  readonly request: SentRequest;
  /** Difference of a request that only prepares the case; absent for the others. */
  readonly preparation?: Particular;
}

/** Requests that are sent one after the other, to find out one thing about a receiver. */
export interface ConformanceCase extends Particular {
  readonly name: string;
  readonly requests: (builder: RequestBuilder) => Promise<readonly Expected[]>;
}

/**
 * Returns the cases that exist for a signature scheme, in the order in which they are played.
 * @param hasProgress true for a receiver that asks for progress.
 */
export function casesOf(scheme: "v1" | "v1a", hasProgress: boolean): readonly ConformanceCase[] {
  const cases = [...GENUINE, ...FORGED].filter(
    ({ name }) => scheme === "v1a" || name !== "public-key-as-secret",
  );
  return hasProgress ? [...cases, ...PROGRESS] : cases;
}
