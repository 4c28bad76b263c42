import * as z from "zod/mini";
import { CAUSES, OUTCOMES } from "../core/record/outcome.ts";
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
});

/**
 * The callback of a task. It keeps the Idempotency-Key of the last redelivery that the operator ordered, and
 * that of the owner's last one. Records of earlier builds have a single one; it is then used for both, so
 * that neither of them starts a redelivery twice by repeating a request.
 */
export const Callback = z.pipe(
  StoredCallback,
  z.transform(({ lastOwnerOrderKey, ...callback }: z.output<typeof StoredCallback>) => ({
    ...callback,
    lastOwnerOrderKey: lastOwnerOrderKey === undefined ? callback.lastOrderKey : lastOwnerOrderKey,
  })),
);
