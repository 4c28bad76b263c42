import type * as z from "zod/mini";
import type { AnswerHeader, RequestHeader } from "./headers.openapi.ts";
import type { ProblemCode } from "./problem-list.ts";

/**
 * Group of users for whom a route exists: clients, who submit tasks; operators, who run the relay; or upstreams, which
 * do the jobs.
 */
export type Audience = "client" | "operator" | "upstream";

/** The body of a response in one media type, with an example. */
export interface Content {
  readonly schema: z.ZodMiniType;
  readonly example: unknown;
}

/** Description of a response of a route. Problems (errors in the format of RFC 9457) are described elsewhere. */
export interface Answer {
  readonly description: string;
  /** Bodies of the response, by media type; empty for a response without a body. */
  readonly content: Readonly<Record<string, Content>>;
  /**
   * Headers that this response has in addition to those of every response. The value states whether the response always
   * has the header.
   */
  readonly headers: Readonly<Partial<Record<AnswerHeader, Presence>>>;
  /**
   * Body of the response to a request with a status token (the token in the status link of a task) instead of a key.
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

/** Description of an upstream's responses, in any format, that the relay passes on to its caller. */
export interface PassedDescription {
  readonly description: string;
  readonly example: unknown;
}

/** Description of a route. It is used by documents and tests, and not by the running relay. */
export interface RouteDescription {
  readonly audience: Audience;
  readonly summary: string;
  /** Details about the route that the summary does not contain. Absent when there are none. */
  readonly details?: string;
  readonly request?: RequestDescription;
  /** The responses by HTTP status, without the problems (errors in the format of RFC 9457). */
  readonly answers: Readonly<Record<number, Answer>>;
  /**
   * Description of the upstream's responses that the route passes on with the header `Relay-Task-Id`, whatever their
   * status and body. Absent for a route that passes on none.
   */
  readonly passedAnswer?: PassedDescription;
  /**
   * Codes of the problems with which this route may answer, apart from those that `problemsOf` adds because of its
   * access, its path and whether it takes a body.
   */
  readonly problems: readonly ProblemCode[];
}

/** Returns the description of a response with a JSON body. */
export function jsonAnswer<S extends z.ZodMiniType>(
  description: string,
  schema: S,
  example: z.output<S>,
  headers: Answer["headers"] = {},
): Answer {
  return { description, content: { "application/json": { schema, example } }, headers };
}

/** Returns the description of a response without a body. */
export function emptyAnswer(description: string, headers: Answer["headers"] = {}): Answer {
  return { description, content: {}, headers };
}
