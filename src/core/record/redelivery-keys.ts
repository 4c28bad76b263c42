import type { RedeliveryOrder } from "./callback.ts";

/** Number of keyed redeliveries that a task remembers of each caller; an older one is forgotten. */
export const MAX_KEYED_REDELIVERIES = 8;

/**
 * The callers that order redeliveries: the operator, with any of its keys, and the account that owns the task.
 */
export type Orderer = "operator" | "owner";

/** An order for a redelivery that was accepted under an `Idempotency-Key`. */
export interface KeyedRedelivery {
  readonly key: string;
  /**
   * `callback_url` of the order; null when it named none. Absent when a release that did not store it has
   * accepted the order.
   */
  readonly callbackUrl?: string | null | undefined;
}

/** The last keyed redeliveries of each caller, oldest first, at most `MAX_KEYED_REDELIVERIES` each. */
export type KeyedRedeliveries = Readonly<Record<Orderer, readonly KeyedRedelivery[]>>;

/** The keyed redeliveries of a callback, with the latest key of each caller. */
export interface RedeliveryMemory {
  readonly keyedOrders: KeyedRedeliveries;
  /**
   * `Idempotency-Key` of the operator's latest keyed redelivery; null when there was none. Stored for earlier
   * releases, which know no other orders, so that they still read the record after a downgrade.
   */
  readonly lastOrderKey: string | null;
  /** The same as `lastOrderKey`, of the account that owns the task. */
  readonly lastOwnerOrderKey: string | null;
}

export const NO_REDELIVERIES: RedeliveryMemory = {
  keyedOrders: { operator: [], owner: [] },
  lastOrderKey: null,
  lastOwnerOrderKey: null,
};

/**
 * Returns the remembered order that the same caller gave under the `Idempotency-Key` of an order; null when
 * the order has no key, or one that is not remembered.
 */
export function knownRedelivery(
  { keyedOrders }: Pick<RedeliveryMemory, "keyedOrders">,
  { orderedBy, idempotencyKey }: Pick<RedeliveryOrder, "orderedBy" | "idempotencyKey">,
): KeyedRedelivery | null {
  return keyedOrders[orderedBy].find(({ key }) => key === idempotencyKey) ?? null;
}

/** Returns a callback that remembers one more order, unless the order has no `Idempotency-Key`. */
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
