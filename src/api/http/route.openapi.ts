import type * as z from "zod/mini";
import type { AnswerHeader, RequestHeader } from "./headers.openapi.ts";
import type { ProblemCode } from "./problem-list.ts";

/**
 * Group of users for whom a route is: clients, who submit tasks; operators, who run the relay; or upstreams, which do
 * the jobs.
 */
export type Audience = "client" | "operator" | "upstream";

/** The body of an answer in one media type, with an example. */
export interface Content {
  readonly schema: z.ZodMiniType;
  readonly example: unknown;
}

/** Description of an answer of a route. Problems (errors in the format of RFC 9457) are described elsewhere. */
export interface Answer {
  readonly description: string;
  /** Bodies of the answer, by media type; empty for an answer without a body. */
  readonly content: Readonly<Record<string, Content>>;
  /**
   * Headers that this answer has besides those of every answer. The value states whether the answer always has the
   * header.
   */
  readonly headers: Readonly<Partial<Record<AnswerHeader, Presence>>>;
  /**
   * Body of the answer to a caller who shows a status token (the token in the status link of a task) instead of a key.
   * Absent when it is the same as for a key.
   */
  readonly forStatusToken?: Content;
}

type Presence = "always" | "sometimes";

/** Description of a parameter of a path or of a query. */
export interface Parameter {
  readonly description: string;
  readonly example?: string | number | boolean;
  /** Limits of a number, which a query carries in decimal digits; absent for a text. */
  readonly integer?: { readonly min: number; readonly max?: number; readonly fallback?: number };
}

/** Description of the query, the headers and the body of a request; its path is described elsewhere. */
interface RequestDescription {
  /** Description of each field in the body of a request. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Example of the body of a request, for the description of the API. */
  readonly example?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: readonly RequestHeader[];
  /** Description of a body that the relay passes on unread, in any format. Absent for any other request. */
  readonly passedBody?: string;
}

/** Description of the answers of an upstream that the relay passes on to its caller, in any format. */
export interface PassedAnswer {
  readonly description: string;
  readonly example: unknown;
}

/** Description of a route, which only documents and tests read and the running relay does not. */
export interface RouteDescription {
  readonly audience: Audience;
  readonly summary: string;
  /** Details about the route that the summary does not contain. Absent when there are none. */
  readonly details?: string;
  readonly request?: RequestDescription;
  /** The answers by HTTP status, without the problems (errors in the format of RFC 9457). */
  readonly answers: Readonly<Record<number, Answer>>;
  /**
   * Description of the answers of an upstream that the route passes on with the header `Relay-Task-Id`, whatever their
   * status and body; absent for a route that passes none on.
   */
  readonly passedAnswer?: PassedAnswer;
  /**
   * Codes of the problems with which this route may answer, besides those that follow from its access, its
   * path and whether it takes a body (`problemsOf`).
   */
  readonly problems: readonly ProblemCode[];
}

/** Describes an answer with a JSON body. */
export function jsonAnswer<S extends z.ZodMiniType>(
  description: string,
  schema: S,
  example: z.output<S>,
  headers: Answer["headers"] = {},
): Answer {
  return { description, content: { "application/json": { schema, example } }, headers };
}

/** Describes an answer without a body. */
export function emptyAnswer(description: string, headers: Answer["headers"] = {}): Answer {
  return { description, content: {}, headers };
}
