import type { Send } from "./retry.ts";

export interface RelayOptions {
  /** Origin of the relay, e.g. `https://relay.example.com`. */
  readonly url: string;
  /** An operator key, or the API key of an account. Left out only where `fetch` calls the relay over a service binding. */
  readonly key?: string;
  /** Sends the requests, e.g. over a service binding; by default the global `fetch`. */
  readonly fetch?: Send;
  /** Time for which a failed request is tried again, in milliseconds; 30,000 by default, 0 for never. */
  readonly retryForMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface KeyedCallOptions extends CallOptions {
  /** Key of 1 to 255 printable ASCII characters. A request under the same key has its effect only once. */
  readonly idempotencyKey?: string;
}

export interface CancelOptions extends CallOptions {
  /** True to fail the task at once, whatever becomes of its job; for operator keys only. */
  readonly force?: boolean;
}
