/**
 * Largest number of redeliveries with an `Idempotency-Key` that a task remembers for each caller. Older ones are
 * forgotten.
 */
const MAX_KEYED_REDELIVERIES = 8;

/** The caller that orders a redelivery: the operator (with any operator key), or the account that owns the task. */
export type Orderer = "operator" | "owner";

/** An order for a redelivery, which starts another series of attempts. */
export interface RedeliveryOrder {
  readonly attempts: number;
  /**
   * URL to which this and later attempts go instead of the present URL of the callback, or the text that stands for an
   * endpoint (`endpointUrl`). Null means that the present receiver stays.
   */
  readonly callbackUrl: string | null;
  readonly orderedBy: Orderer;
  /**
   * `Idempotency-Key` of the order. If the same caller repeats the order with this key, no further attempts start. Two
   * different callers may use the same key for different orders.
   */
  readonly idempotencyKey: string | null;
  /** Name of the API key that orders the redelivery. */
  readonly keyName: string | null;
}

/** An order for a redelivery that was accepted under an `Idempotency-Key`. */
export interface KeyedRedelivery {
  readonly key: string;
  /** `callbackUrl` of the order. Null when the order named no receiver. */
  readonly callbackUrl: string | null;
}

/**
 * The latest redeliveries with an `Idempotency-Key`, at most `MAX_KEYED_REDELIVERIES` for each caller, oldest first. A
 * repeated order is recognised by them.
 */
export type KeyedRedeliveries = Readonly<Record<Orderer, readonly KeyedRedelivery[]>>;

export const NO_KEYED_REDELIVERIES: KeyedRedeliveries = { operator: [], owner: [] };

/** The part of a callback that remembers redeliveries with an `Idempotency-Key`. */
interface Remembering {
  readonly keyedRedeliveries: KeyedRedeliveries;
}

/**
 * Returns the earlier order of the same caller with the same `Idempotency-Key`. Null when the order has no key, or
 * when the task does not remember the key.
 */
export function knownRedelivery(
  { keyedRedeliveries: known }: Remembering,
  { orderedBy, idempotencyKey }: Pick<RedeliveryOrder, "orderedBy" | "idempotencyKey">,
): KeyedRedelivery | null {
  return known[orderedBy].find(({ key }) => key === idempotencyKey) ?? null;
}

/**
 * Returns a callback that also remembers this order. The same callback is returned when the order has no
 * `Idempotency-Key`.
 */
export function withRedelivery<T extends Remembering>(
  callback: T,
  { orderedBy, idempotencyKey: key, callbackUrl }: RedeliveryOrder,
): T {
  if (key === null) return callback;
  const known = callback.keyedRedeliveries;
  const orders = [...known[orderedBy], { key, callbackUrl }].slice(-MAX_KEYED_REDELIVERIES);
  return { ...callback, keyedRedeliveries: { ...known, [orderedBy]: orders } };
}
