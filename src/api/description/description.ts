import type { ProblemCode } from "../http/problem-list.ts";

/** Who uses a route: who has tasks made, who runs the relay, or the upstream that does the work. */
type Audience = "client" | "operator" | "upstream";

/** An answer of a route other than a problem (RFC 9457). */
interface Answer {
  readonly description: string;
}

/** What only describes a route: the documents and tests read it, and the running relay does not. */
export interface RouteDescription {
  readonly audience: Audience;
  readonly summary: string;
  /** The answers other than problems, by HTTP status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /**
   * Codes of the problems with which this route may answer, besides those that all routes share: faults of
   * the key, of the body or of the platform, and rate limits.
   */
  readonly problems: readonly ProblemCode[];
}
