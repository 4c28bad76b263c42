/** Options of a submission. All but `key` reach the relay as headers `Relay-…`. */
export interface SubmitOptions {
  /**
   * `customer`: the upstream gets your own key, which the headers of the call contain as the upstream takes it. The relay
   * asks for the job with it too, and stores it encrypted until then. By default it is the key of the connection.
   */
  readonly key?: "customer" | undefined;
  /** URL to which the relay sends the callback when the job has ended. */
  readonly callbackUrl?: string;
  /** Labels of the task, at most 4 KB as JSON. Reading the task returns them; no callback has them. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Account of the task. For operator keys only, as are the following. */
  readonly account?: string;
  /** Price in credits, which the account is charged. */
  readonly credits?: number;
  /** The same, or a price by what the job turns out to be, in place of `credits`. */
  readonly price?: Price;
  /** Time at which the task fails if it is still open, in Unix seconds. */
  readonly deadlineAt?: number;
}

/** Price of a task in credits: fixed, or by a number that is known only at its end. */
export type Price =
  | { readonly credits: number }
  | {
      /** Credits that are charged at first: the most that the task can cost. */
      readonly hold: number;
      /** Fewest credits that the completed task costs. */
      readonly min?: number;
      /** Credits for so many units of a number of the job's usage, or of a field of the output metadata. */
      readonly per: {
        readonly units: number;
        /** The same for all outputs, or by their resolution. */
        readonly credits: number | Readonly<Record<string, number>>;
      } & ({ readonly usage: string } | { readonly field: "duration" });
    };

/** The call to the upstream, and what the relay is told about it. */
export interface SubmitInit extends SubmitOptions {
  readonly body?: RequestInit["body"];
  /** Headers for the upstream. */
  readonly headers?: RequestInit["headers"];
  /** Query of the upstream's URL, without the question mark. */
  readonly query?: string | URLSearchParams;
  readonly signal?: RequestInit["signal"];
  /**
   * Key of 1 to 255 printable ASCII characters. Calls under the same key are submitted once. By default each call has
   * a key of its own.
   */
  readonly idempotencyKey?: string;
  /** Id of the task. For operator keys only. */
  readonly taskId?: string;
}

/** A call of the upstream's own API, by `POST` a submission, an upload or a cancellation. */
export interface CallInit extends SubmitInit {
  /** `POST` by default. */
  readonly method?: string;
}

/** A job that the upstream has accepted or refused. */
export interface Submission {
  readonly taskId: string;
  /** Link to the status page of the task; null when the upstream has refused the job, which leaves no task. */
  readonly statusUrl: string | null;
  /** The upstream's own answer. */
  readonly response: Response;
}

/**
 * Returns the request that makes a call of the upstream's own API through the relay. By `POST` it has an idempotency key.
 * @param authorization key of the relay as bearer token, which stands where the upstream's key would, or apart from it.
 * Undefined for a Worker whose service binding takes the place of the key.
 * @throws TypeError when the path leads elsewhere, e.g. by `..`.
 */
export function upstreamRequest(
  url: string,
  connection: string,
  path: string,
  authorization: string | undefined,
  {
    method = "POST",
    key,
    body = null,
    headers: given,
    query = "",
    signal = null,
    idempotencyKey,
    ...options
  }: CallInit,
): Request {
  const place = `/v1/submit/${connection}/${path.replace(/^\//, "")}`;
  const target = new URL(url.replace(/\/$/, "") + place);
  if (!target.pathname.endsWith(place)) throw new TypeError("The path is not plain.");
  target.search = `${query}`;
  const headers = new Headers(given);
  if (method === "POST") headers.set("Idempotency-Key", idempotencyKey ?? crypto.randomUUID());
  if (authorization) headers.set(key ? "Relay-Key" : "Authorization", authorization);
  for (const [name, value] of Object.entries(options)) {
    // E.g. `callbackUrl` as `Relay-callback-Url`: case does not matter.
    if (value !== undefined) headers.set(`Relay-${name.replace(/[A-Z]/g, "-$&")}`, textOf(value));
  }
  // Node demands `duplex` for a stream.
  const half = { duplex: "half" as const };
  return new Request(target, { ...half, method, body, headers, signal });
}

/** Returns a value as a header can contain it: an object as JSON in ASCII. */
function textOf(value: string | number | object): string {
  return typeof value === "object"
    ? JSON.stringify(value).replace(/[\x7f-\uffff]/g, escaped)
    : `${value}`;
}

/** Returns a character (UTF-16 code unit) as JSON can escape it. */
function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
