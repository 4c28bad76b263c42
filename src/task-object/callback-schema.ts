import * as z from "zod/mini";
import { CAUSES, OUTCOMES } from "../core/record/outcome.ts";
import { MAX_KEYED_ORDERS } from "../core/record/keyed-orders.ts";
import { Int, IntOrNull, LaterTime, TextOrNull, Time, TimeOrNull } from "./schema-types.ts";

const AnswerHeaders = z.looseObject({
  contentType: TextOrNull,
  locationHost: TextOrNull,
  retryAfter: TextOrNull,
});

const Attempt = z.looseObject({
  number: Int,
  series: Int,
  url: z._default(TextOrNull, null),
  dueAt: LaterTime,
  startedAt: Time,
  durationMs: Int,
  outcome: z.enum(OUTCOMES),
  statusCode: IntOrNull,
  responseExcerpt: TextOrNull,
  cloudflareError: z._default(IntOrNull, null),
  cause: z._default(z.nullable(z.enum(CAUSES)), null),
  answer: z._default(z.nullable(AnswerHeaders), null),
  sentDigest: z._default(TextOrNull, null),
  keyName: z._default(TextOrNull, null),
});

const KeyedOrder = z.looseObject({ key: z.string(), callbackUrl: z.optional(TextOrNull) });

const KeyedOrders = z.looseObject({
  operator: z.array(KeyedOrder),
  owner: z.array(KeyedOrder),
});

const StoredCallback = z.looseObject({
  url: z.string(),
  attempts: z.array(Attempt),
  droppedOutcomes: z._default(z.partialRecord(z.enum(OUTCOMES), Int), {}),
  lastNumber: Int,
  series: z.looseObject({
    number: Int,
    started: Int,
    ordered: IntOrNull,
    keyName: z._default(TextOrNull, null),
  }),
  state: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("held") }),
    z.looseObject({ kind: z.literal("due"), nextAttemptAt: Time }),
    z.looseObject({ kind: z.literal("in_flight"), number: Int, dueAt: LaterTime, startedAt: Time }),
    z.looseObject({ kind: z.literal("delivered") }),
    z.looseObject({ kind: z.literal("failed") }),
  ]),
  deliveredAt: TimeOrNull,
  lastOrderKey: TextOrNull,
  lastOwnerOrderKey: z.optional(TextOrNull),
  keyedOrders: z._default(KeyedOrders, { operator: [], owner: [] }),
});

/**
 * The callback of a task. Records of early builds have one key for the last order of whoever it was; it is then
 * used for the operator and the owner, so that neither of them starts a redelivery twice by repeating a request.
 */
export const Callback = z.pipe(
  StoredCallback,
  z.transform(({ lastOwnerOrderKey, ...callback }: z.output<typeof StoredCallback>) => {
    const { lastOrderKey } = callback;
    const ownerKey = lastOwnerOrderKey === undefined ? lastOrderKey : lastOwnerOrderKey;
    const keyedOrders = {
      operator: withLatest(callback.keyedOrders.operator, lastOrderKey),
      owner: withLatest(callback.keyedOrders.owner, ownerKey),
    };
    return { ...callback, lastOwnerOrderKey: ownerKey, keyedOrders };
  }),
);

/**
 * Returns the remembered orders of a caller including the one with the latest key, which is missing among them
 * when a release that stores only the latest key has accepted that order.
 */
function withLatest(
  orders: z.output<typeof KeyedOrders>["owner"],
  latest: string | null,
): z.output<typeof KeyedOrders>["owner"] {
  if (latest === null || orders.some(({ key }) => key === latest)) return orders;
  return [...orders, { key: latest }].slice(-MAX_KEYED_ORDERS);
}
