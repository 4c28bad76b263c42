import type { Submission } from "../../src/core/record/submission.ts";
import { HOUR, NOW, SECOND } from "./builders.ts";

const CALL = {
  id: "submission-0000000001",
  startedAt: NOW,
  requestDigest: "digest",
  endpoint: null,
  isByOwner: false,
  answer: null,
  customerKey: null,
} as const;

/** Time at which the outcome of the submissions of these builders counts as unknown without an answer. */
export const SENDING_ENDS = NOW + 100 * SECOND;
/** Time at which a task fails whose submission has an unknown outcome. */
export const FAILS_AT = NOW + HOUR;

/** Builds a submission whose call waits to be sent. */
export function aQueued(changes: Partial<Submission> = {}): Submission {
  return { ...CALL, isCall: true, state: { kind: "queued", failsAt: FAILS_AT }, ...changes };
}

/** Builds a submission that the upstream has not answered yet. */
export function aSending(changes: Partial<Submission> = {}): Submission {
  return { ...CALL, state: { kind: "sending", endsAt: SENDING_ENDS }, ...changes };
}

/** Builds a submission with an unknown outcome. @param statusCode HTTP status of the answer; null for no answer. */
export function anUnknown(
  statusCode: number | null,
  changes: Partial<Submission> = {},
): Submission {
  const answeredAt = statusCode === null ? null : NOW + SECOND;
  const times = { answeredAt, statusCode, failsAt: FAILS_AT, askAt: null, tries: 0 };
  return { ...CALL, state: { kind: "unknown", ...times }, ...changes };
}

/** Builds a submission that the upstream has accepted, with this time of its answer; null for none. */
export function anAccepted(answeredAt: number | null): Submission {
  const statusCode = answeredAt === null ? null : 200;
  return { ...CALL, state: { kind: "accepted", answeredAt, statusCode } };
}
