import type { CallbackEvents } from "./callback-events.ts";
import type { SealedText } from "./sealed-text.ts";

/** Name of the endpoint that tasks get which name no receiver. */
export const DEFAULT_ENDPOINT = "default";

/** Headers of an endpoint, which are sent with every callback. Their values are encrypted, their names are not. */
export interface SealedHeaders extends SealedText {
  readonly names: readonly string[];
}

/** Secret of an endpoint of its own. It is derived from this id and the generation, a number that each rotation raises. */
export interface EndpointSecret {
  readonly id: string;
  readonly generation: number;
}

/**
 * The part of an endpoint that a task stores besides the URL, the schedule and the events: its name, its sealed headers and
 * its secret. The endpoint is not read again, so a change or deletion of it changes neither the times nor the requests of
 * the task.
 */
export interface EndpointCopy {
  readonly name: string;
  /** Absent when the endpoint has no headers. */
  readonly headers?: SealedHeaders;
  /** Absent when the secret of the account or, without an account, that of the relay signs. */
  readonly secret?: EndpointSecret;
}

/**
 * An endpoint without the values of its headers. Attempts of a callback are stored with it when the callback gets another
 * receiver.
 */
export interface PastEndpoint extends Pick<EndpointCopy, "name" | "secret"> {
  /** Absent when the endpoint had no headers. */
  readonly headers?: Pick<SealedHeaders, "names">;
}

/** Returns what past attempts keep of the endpoint to which they went. */
export function pastEndpoint({ name, headers, secret }: EndpointCopy): PastEndpoint {
  return {
    name,
    ...(headers !== undefined && { headers: { names: headers.names } }),
    ...(secret !== undefined && { secret }),
  };
}

/** An endpoint as it is when a task is created or a redelivery is ordered. */
export interface ChosenEndpoint {
  readonly url: string;
  /** Waits before the attempts of the callback, in milliseconds. Absent when the endpoint states none. */
  readonly scheduleMs?: readonly number[];
  /** Events that the endpoint is told of. Absent for `completed` and `failed`. */
  readonly events?: CallbackEvents;
  readonly copy: EndpointCopy;
}

/**
 * The endpoint that a request names, or the one that is used because the request names no receiver.
 * - `unknown`: there is no endpoint with the name in the request. `field` is the JSON Pointer to the name.
 */
export type AskedEndpoint =
  | ({ readonly kind: "known" } & ChosenEndpoint)
  | { readonly kind: "unknown"; readonly field: string };

const PREFIX = "endpoint:";

/** Returns the text that stands for an endpoint where a `callback_url` is stated, e.g. `endpoint:orders`. */
export function endpointUrl(name: string): string {
  return `${PREFIX}${name}`;
}

/** Returns the name of the endpoint for which a `callback_url` stands. Null for any other text. */
export function endpointIn(callbackUrl: string): string | null {
  return callbackUrl.startsWith(PREFIX) ? callbackUrl.slice(PREFIX.length) : null;
}
