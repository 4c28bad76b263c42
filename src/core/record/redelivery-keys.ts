import type { RedeliveryOrder } from "./callback.ts";

/**
 * Number of redeliveries with an `Idempotency-Key` that a task remembers for each caller. Older ones are forgotten.
 */
export const MAX_KEYED_REDELIVERIES = 8;

/** The caller that orders a redelivery: the operator (with any operator key), or the account that owns the task. */
export type Orderer = "operator" | "owner";

/** An order for a redelivery that was accepted under an `Idempotency-Key`. */
export interface KeyedRedelivery {
  readonly key: string;
  /**
   * `callback_url` of the order. Null when the order named no URL. Absent when an earlier release, which did not
   * store it, accepted the order.
   */
  readonly callbackUrl?: string | null | undefined;
}

/**
 * The latest redeliveries with an `Idempotency-Key` of each caller, oldest first, at most `MAX_KEYED_REDELIVERIES`
 * each.
 */
export type KeyedRedeliveries = Readonly<Record<Orderer, readonly KeyedRedelivery[]>>;

/** The redeliveries with an `Idempotency-Key` that a callback remembers, so that it recognises a repeated order. */
export interface RedeliveryMemory {
  readonly keyedOrders: KeyedRedeliveries;
  /**
   * `Idempotency-Key` of the operator's latest redelivery that had one. It repeats the last entry of `keyedOrders`,
   * because earlier releases know only this field, and must be able to read the record after a downgrade. Null when
   * there was none.
   */
  readonly lastOrderKey: string | null;
  /**
   * `Idempotency-Key` of the latest redelivery that the account of the task ordered with one. It is stored for
   * earlier releases too. Null when there was none.
   */
  readonly lastOwnerOrderKey: string | null;
}

export const NO_REDELIVERIES: RedeliveryMemory = {
  keyedOrders: { operator: [], owner: [] },
  lastOrderKey: null,
  lastOwnerOrderKey: null,
};

/**
 * Returns the earlier order of the same caller with the same `Idempotency-Key`. Null when the order has no key, or
 * when the task does not remember the key.
 */
export function knownRedelivery(
  { keyedOrders }: Pick<RedeliveryMemory, "keyedOrders">,
  { orderedBy, idempotencyKey }: Pick<RedeliveryOrder, "orderedBy" | "idempotencyKey">,
): KeyedRedelivery | null {
  return keyedOrders[orderedBy].find(({ key }) => key === idempotencyKey) ?? null;
}

/**
 * Returns a callback that also remembers this order. The same callback is returned when the order has no
 * `Idempotency-Key`.
 */
export function withRedelivery<T extends RedeliveryMemory>(
  callback: T,
  { orderedBy, idempotencyKey: key, callbackUrl }: RedeliveryOrder,
): T {
  if (key === null) return callback;
  const { keyedOrders } = callback;
  const orders = [...keyedOrders[orderedBy], { key, callbackUrl }].slice(-MAX_KEYED_REDELIVERIES);
  return {
    ...callback,
    ...(orderedBy === "operator" ? { lastOrderKey: key } : { lastOwnerOrderKey: key }),
    keyedOrders: { ...keyedOrders, [orderedBy]: orders },
  };
}
