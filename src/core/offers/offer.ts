import type { Price } from "../record/price-rule.ts";
import type { ObjectSchema } from "./tool-schema.ts";

/**
 * The owner of the upstream's key with which a job is submitted: the connection, or the customer, who then sends the
 * key in the header that the upstream uses for keys.
 */
export type UpstreamKeyOwner = "connection" | "customer";

/** States which jobs accounts may submit, within which limits and for how many credits. */
export interface Offer {
  /** Name of the offer. No other offer and no connection has the same name. */
  readonly name: string;
  /** Number of the version, which rises with each change. Null for an offer of the variable `OFFERS`. */
  readonly version: number | null;
  /** Name for people. Null when there is none. */
  readonly title: string | null;
  /** Text for people. Null when there is none. */
  readonly description: string | null;
  /** The accounts for which the offer is. Null when it is for all. */
  readonly audience: Audience | null;
  /** Number by which offers for the same accounts are ordered. Those with a lower one are compared first. */
  readonly rank: number;
  /** Name of the connection or pool under which the jobs are submitted. */
  readonly connection: string;
  readonly keyOwner: UpstreamKeyOwner;
  /**
   * Path of the submission below the base URL of the connection, e.g. `/v1/predictions`. Null means that the offer is
   * for every path.
   */
  readonly path: string | null;
  /** Names of models, in which `*` stands for any number of any characters. */
  readonly models: readonly string[];
  readonly limits: readonly Limit[];
  /** Price of a submission. Null when the submission is free. */
  readonly price: Price | null;
  /**
   * True when accounts may upload files to the connection, free of charge. An upload uses a key of the same owner
   * (connection or customer) as a job.
   */
  readonly takesUploads: boolean;
  /** Tool by which AI agents (clients of MCP at `POST /mcp`) submit such jobs. Null when there is none. */
  readonly tool: OfferedTool | null;
}

/** The accounts for which an offer is: those with these ids, and those that have one of the tags. */
export interface Audience {
  readonly accounts: readonly string[];
  readonly tags: readonly string[];
}

/**
 * Tool by which AI agents (clients of MCP) submit the jobs of an offer. An offer with a tool is for one model at one
 * path.
 */
export interface OfferedTool {
  readonly name: string;
  /** Path of the submission below the base URL of the connection. */
  readonly path: string;
  readonly model: string;
  /** Schema of the members that a caller of the tool may set in the body of the call: the member `body` of the offer. */
  readonly schema: ObjectSchema;
}

/** Limit of one value in the request of an account. It has either `values`, or one or both of `min` and `max`. */
export interface Limit {
  /**
   * Where the request has the value: `/a/b` is a JSON Pointer to a member of the body, `?a` is a parameter of the
   * query.
   */
  readonly pointer: string;
  /** The permitted values. Null when the value must be a number within bounds. */
  readonly values: readonly (string | number | boolean)[] | null;
  /** Smallest permitted number. Null when there is no lower bound; a limit with only a `max` has the lower bound 0. */
  readonly min: number | null;
  /** Largest permitted number. Null when there is no upper bound. */
  readonly max: number | null;
  /** True when the limited value may be missing in a request. */
  readonly isOptional: boolean;
}

/** A fault of an offer. */
export interface OfferFault {
  /** Names of the members that lead to the one at fault; empty for the whole offer. */
  readonly path: readonly PropertyKey[];
  /** Description of the fault, as the rest of a sentence that begins with the name of the variable `OFFERS`. */
  readonly message: string;
}
