import { noticeOf } from "../../src/core/record/operator-notice.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aPolicy,
  NOW,
} from "../core/builders.ts";
import { aPricedRegistration } from "../core/credit-builders.ts";
import {
  aKeptHook,
  anAttachedTask,
  anUpstreamFailure,
  NO_OUTPUT,
} from "../core/upstream-builders.ts";

/** Policy under which the records are written and read. */
export const POLICY = aPolicy({ isIndexed: true, isOperatorNotified: true });
const FAILURE = '{"id":"x","status":"failed","error":{"code":"moderation","message":"Refused."}}';
const price = { accountId: "acme", amount: 40, chargeId: "charge-1", final: null };
const charging = transition(null, aPricedRegistration(), POLICY, NOW);
const failed = aFinishedTask({
  status: "failed",
  body: FAILURE,
  account: ACCOUNT,
  failure: { category: "moderation", retryable: false },
  credits: { ...price, state: { kind: "refunding", retryAt: NOW, tries: 2 } },
  callback: aCallback({ attempts: [], lastNumber: 0, state: { kind: "held" }, deliveredAt: null }),
  notices: [noticeOf("refund.delayed", NOW, NOW)],
});
const kept = [aKeptHook(NO_OUTPUT), aKeptHook(anUpstreamFailure(), null)];
const records: readonly TaskRecord[] = [
  anOpenTask(),
  anAttachedTask(
    {},
    { tracking: { poll: null, keptHooks: kept, isExtended: true, told: [], refusedHooks: [] } },
  ),
  anAttachedTask(),
  aFinishedTask(),
  aFinishedTask({ callback: aCallback({ state: { kind: "due", nextAttemptAt: NOW + 5 } }) }),
  aFinishedTask({
    callback: aCallback({
      attempts: [anAttempt({ outcome: "rejected", statusCode: 500, responseExcerpt: "no" })],
      state: { kind: "in_flight", number: 2, dueAt: NOW + 5, startedAt: NOW + 5 },
    }),
  }),
  failed,
  ...(charging.kind === "changed" ? [charging.record] : []),
];
/** Records in the form in which a build before 1.0.0, and a later release within the same `v` or not, would store them. */
const others = records.flatMap((record) => [
  { ...record, v: 1 },
  { ...record, shard: "b" },
  { ...record, v: 3, shard: "b" },
]);
/** Records in all forms that a relay may find in its storage. */
export const STORED_RECORDS: readonly object[] = [...records, ...others];
