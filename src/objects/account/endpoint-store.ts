import { type CallbackEvents, statedEvents } from "../../core/record/callback-events.ts";
import {
  type ChosenEndpoint,
  DEFAULT_ENDPOINT,
  type EndpointSecret,
  type SealedHeaders,
} from "../../core/record/endpoint-copy.ts";

/** Largest number of endpoints of an account, and of the relay. */
export const MAX_ENDPOINTS = 20;

/** Settings of an endpoint, as `PUT …/endpoints/{endpoint}` states them. */
export interface EndpointOrder {
  readonly name: string;
  readonly url: string;
  /** Waits before the attempts of a callback, in milliseconds. Null when those of the settings hold. */
  readonly scheduleMs: readonly number[] | null;
  readonly events: CallbackEvents;
  /** Headers that are added to each callback: new ones, or those that the endpoint has. Null when there are none. */
  readonly headers: SealedHeaders | "kept" | null;
  readonly hasOwnSecret: boolean;
}

/** An endpoint: a named receiver of callbacks, of an account or of the relay. */
export interface StoredEndpoint extends Omit<EndpointOrder, "headers" | "hasOwnSecret"> {
  /** Headers that are added to each callback. Null when there are none. */
  readonly headers: SealedHeaders | null;
  /** Secret of the endpoint's own that signs. Null when the secret of the account or of the relay does. */
  readonly secret: EndpointSecret | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Time of the last order or rotation, in Unix milliseconds. */
  readonly changedAt: number;
}

/**
 * Answer to an order to store an endpoint.
 * - `full`: there are as many endpoints as there may be.
 * - `unkept`: there are no headers to keep, or they were stored for another URL.
 */
export type PutAnswer =
  | { readonly kind: "stored"; readonly endpoint: StoredEndpoint; readonly isNew: boolean }
  | { readonly kind: "full" }
  | { readonly kind: "unkept" };

/** Name of the object with the endpoints of the relay itself. */
export const RELAY_ENDPOINTS = "relay-endpoints:";

const PREFIX = "endpoint:";

/** Returns what a task takes from an endpoint. */
export function chosenEndpoint({
  name,
  url,
  scheduleMs,
  events,
  headers,
  secret,
}: StoredEndpoint): ChosenEndpoint {
  const copy = {
    name,
    ...(headers !== null && { headers }),
    ...(secret !== null && { secret }),
  };
  const { callbackEvents } = statedEvents(events);
  return {
    url,
    ...(scheduleMs !== null && { scheduleMs }),
    ...(callbackEvents !== undefined && { events: callbackEvents }),
    copy,
  };
}

/** Endpoints of an account or of the relay, each stored under the key `endpoint:<name>`. */
export class EndpointStore {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  find(name: string): StoredEndpoint | null {
    return this.#kv.get<StoredEndpoint>(`${PREFIX}${name}`) ?? null;
  }

  /** Returns the endpoint of tasks that name no receiver, as a member. Without one there is no such member. */
  default(): { readonly defaultEndpoint?: StoredEndpoint } {
    const endpoint = this.find(DEFAULT_ENDPOINT);
    return endpoint === null ? {} : { defaultEndpoint: endpoint };
  }

  /** Returns all endpoints, in the order of their names. */
  all(): StoredEndpoint[] {
    return Array.from(
      this.#kv.list<StoredEndpoint>({ prefix: PREFIX }),
      ([, endpoint]) => endpoint,
    );
  }

  /**
   * Stores an endpoint in place of the one with its name. A secret of its own stays. Its headers may stay only while it
   * has the same URL, so that nobody who cannot read them can send them elsewhere.
   */
  put({ hasOwnSecret, headers: stated, ...order }: EndpointOrder): PutAnswer {
    const known = this.find(order.name);
    const headers = stated === "kept" ? headersAt(order.url, known) : stated;
    if (stated === "kept" && headers === null) return { kind: "unkept" };
    if (known === null && this.all().length >= MAX_ENDPOINTS) return { kind: "full" };
    const secret = hasOwnSecret ? (known?.secret ?? newSecret()) : null;
    const createdAt = known?.createdAt ?? Date.now();
    const endpoint = this.#write({ ...order, headers, secret, createdAt });
    return { kind: "stored", endpoint, isNew: known === null };
  }

  /**
   * Rotates the secret of an endpoint by raising its generation by one.
   * @param seen the generation that the caller knows. Nothing changes when another one is stored. Null rotates in any
   * case.
   * @returns the endpoint, changed or not; null when there is none with this name.
   */
  rotate(name: string, seen: number | null): StoredEndpoint | null {
    const known = this.find(name);
    if (known === null || known.secret === null) return known;
    const { id, generation } = known.secret;
    if (seen !== null && seen !== generation) return known;
    return this.#write({ ...known, secret: { id, generation: generation + 1 } });
  }

  delete(name: string): void {
    this.#kv.delete(`${PREFIX}${name}`);
  }

  deleteAll(): void {
    for (const { name } of this.all()) this.delete(name);
  }

  #write(unstamped: Omit<StoredEndpoint, "changedAt">): StoredEndpoint {
    const endpoint = { ...unstamped, changedAt: Date.now() };
    this.#kv.put(`${PREFIX}${endpoint.name}`, endpoint);
    return endpoint;
  }
}

/** Returns the headers of an endpoint that may be sent to a URL: those that were stored with it. */
function headersAt(url: string, known: StoredEndpoint | null): SealedHeaders | null {
  return known?.url === url ? known.headers : null;
}

/** Returns a new secret. Its random id makes it another one than that of a deleted endpoint with the same name. */
function newSecret(): EndpointSecret {
  return { id: crypto.randomUUID(), generation: 1 };
}
