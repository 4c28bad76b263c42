import type { RedeliveryOrder } from "./callback.ts";

/** Number of keyed orders that a task remembers of each caller; an older one is forgotten. */
export const MAX_KEYED_ORDERS = 8;

/**
 * The callers that order redeliveries: the operator, with any of its keys, and the account that owns the task.
 */
export type Orderer = "operator" | "owner";

/** An order for a redelivery that was accepted under an `Idempotency-Key`. */
export interface KeyedOrder {
  readonly key: string;
  /**
   * `callback_url` of the order; null when it named none. Absent when a release that did not store it has
   * accepted the order.
   */
  readonly callbackUrl?: string | null | undefined;
}

/** The last keyed orders of each caller, oldest first, at most `MAX_KEYED_ORDERS` each. */
export type KeyedOrders = Readonly<Record<Orderer, readonly KeyedOrder[]>>;

/** The keyed orders of a callback, with the latest key of each caller. */
export interface OrderMemory {
  readonly keyedOrders: KeyedOrders;
  /**
   * `Idempotency-Key` of the operator's latest keyed order; null when there was none. Stored for earlier
   * releases, which know no other orders, so that they still read the record after a downgrade.
   */
  readonly lastOrderKey: string | null;
  /** The same as `lastOrderKey`, of the account that owns the task. */
  readonly lastOwnerOrderKey: string | null;
}

export const NO_ORDERS: OrderMemory = {
  keyedOrders: { operator: [], owner: [] },
  lastOrderKey: null,
  lastOwnerOrderKey: null,
};

/**
 * Returns the remembered order that the same caller gave under the `Idempotency-Key` of an order; null when
 * the order has no key, or one that is not remembered.
 */
export function rememberedOrder(
  { keyedOrders }: Pick<OrderMemory, "keyedOrders">,
  { orderedBy, idempotencyKey }: Pick<RedeliveryOrder, "orderedBy" | "idempotencyKey">,
): KeyedOrder | null {
  return keyedOrders[orderedBy].find(({ key }) => key === idempotencyKey) ?? null;
}

/** Returns a callback that remembers one more order, unless the order has no `Idempotency-Key`. */
export function withOrder<T extends OrderMemory>(
  callback: T,
  { orderedBy, idempotencyKey: key, callbackUrl }: RedeliveryOrder,
): T {
  if (key === null) return callback;
  const { keyedOrders } = callback;
  const orders = [...keyedOrders[orderedBy], { key, callbackUrl }].slice(-MAX_KEYED_ORDERS);
  return {
    ...callback,
    ...(orderedBy === "operator" ? { lastOrderKey: key } : { lastOwnerOrderKey: key }),
    keyedOrders: { ...keyedOrders, [orderedBy]: orders },
  };
}
