import type { ConnectionJob, Policy, PollLimits } from "../../src/core/policy.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import {
  aPolicy,
  CONNECTION,
  DAY,
  HOUR,
  LIMITS,
  MINUTE,
  OUTPUT_LINKS,
  SEALED_WITH,
  SECOND,
} from "../core/builders.ts";
import type { Random } from "./random.ts";

/** Configuration of the relay, which another deployment may change. */
export interface Setting {
  readonly scheduleMs: readonly number[];
  readonly taskDeadlineMs: number;
  readonly isPaused: boolean;
  readonly isIndexed: boolean;
  readonly isOperatorNotified: boolean;
  /** Limits of the one connection; null when it has no key. */
  readonly limits: PollLimits | null;
  /** Limits of the one connection for jobs that are polled with a customer's key. */
  readonly customerLimits: PollLimits;
  /** Identifiers of the relay secrets, newest first; the first seals the keys of customers. */
  readonly secretIds: readonly string[];
  /** States that the relay can cancel jobs of the one connection, while it has a key. */
  readonly isCancelable: boolean;
  /** Wait between two polls as a fraction of the job's age. */
  readonly lateness: number;
  /** Time limit of the upstream's answer to a submission, in milliseconds. */
  readonly submitTimeoutMs: number;
  /** Time after which a submission with an unknown outcome fails its task, in milliseconds. */
  readonly submitUnknownMs: number;
  /** States that the relay keeps outputs and makes links of its own to them. */
  readonly areOutputsKept: boolean;
}

/**
 * The settings that lives which were kept before the relay could submit, cancel jobs or keep outputs, or before customers
 * could have keys of their own, lack.
 */
export const LATER_SETTINGS = {
  submitTimeoutMs: 90 * SECOND,
  submitUnknownMs: HOUR,
  isCancelable: false,
  customerLimits: LIMITS,
  secretIds: [SEALED_WITH],
  areOutputsKept: false,
};

/** Initial state of a run. */
export interface InitialState {
  readonly setting: Setting;
  readonly granted: number;
  /** Credits that the account's charges of a month may cost; null for no limit. */
  readonly monthlyLimit: number | null;
  readonly hasAccount: boolean;
  readonly isRoundTripped: boolean;
  /** States that at the end of the run the receiver refuses callbacks, or the upstream never finishes. */
  readonly isReceiverDown: boolean;
  readonly isUpstreamStuck: boolean;
  /** States that at the end of the run the operator's receiver does not answer. */
  readonly isOperatorDown: boolean;
}

/** Limits of a provider that forgets jobs after two hours. */
export const FORGETFUL: PollLimits = {
  hookWaitMs: null,
  gapMs: 0,
  maxAgeMs: 2 * HOUR,
  isIdEnough: true,
  isTaskNamed: true,
  isCreationStated: false,
};
/** Limits of a provider whose answers name the task, and that allows polls only every 20 s. */
export const NAMING: PollLimits = { ...LIMITS, gapMs: 20 * SECOND, isTaskNamed: true };
/** Limits of a provider whose answers state the model and the creation of a job. */
export const STATING: PollLimits = { ...LIMITS, isCreationStated: true };
/** Limits of a provider whose jobs can be polled only with their endpoint. */
const WITH_ENDPOINT: PollLimits = { ...STATING, isIdEnough: false };
const SCHEDULE_MS = [0, 180_000, 600_000];
const NEWER = "secret-2";
const SECRET_IDS: readonly (readonly string[])[] = [
  [SEALED_WITH],
  [SEALED_WITH],
  [NEWER, SEALED_WITH],
  [NEWER],
];

export function settingFrom(random: Random): Setting {
  return {
    scheduleMs: random.weighted<readonly number[]>([
      [8, SCHEDULE_MS],
      [1, [0]],
      [1, [0, 0, 0]],
      [1, [5 * SECOND, 180_000]],
      [1, [0, 1, 2 * DAY, MINUTE]],
    ]),
    taskDeadlineMs: random.weighted([
      [3, 72 * HOUR],
      [1, 5 * MINUTE],
      [1, 40 * DAY],
    ]),
    isPaused: random.isLucky(0.04),
    isIndexed: random.isLucky(0.5),
    isOperatorNotified: random.isLucky(0.5),
    limits: random.weighted<PollLimits | null>([
      [3, LIMITS],
      [2, NAMING],
      [1, FORGETFUL],
      [1, STATING],
      [0.5, WITH_ENDPOINT],
      [2, null],
    ]),
    isCancelable: random.isLucky(0.5),
    lateness: random.weighted([
      [4, 0.07],
      [1, 0.03],
      [1, 0.5],
    ]),
    submitTimeoutMs: random.pick([90 * SECOND, 90 * SECOND, 5 * SECOND, 10 * MINUTE]),
    submitUnknownMs: random.pick([HOUR, HOUR, MINUTE, 6 * HOUR]),
    customerLimits: random.pick([LIMITS, LIMITS, NAMING, FORGETFUL, STATING]),
    secretIds: random.pick(SECRET_IDS),
    areOutputsKept: random.isLucky(0.5),
  };
}

/**
 * Returns the configuration as it is for a task: the job of a customer's key is polled with this key alone, as long as a
 * relay secret opens it.
 */
export function settingFor(
  record: Pick<TaskRecord, "submission"> | null,
  setting: Setting,
): Setting {
  const key = record?.submission?.customerKey ?? null;
  if (key === null) return setting;
  const isReadable = key.kind === "sealed" && setting.secretIds.includes(key.sealedWith);
  return { ...setting, limits: isReadable ? setting.customerLimits : null };
}

const policies = new WeakMap<Setting, Policy>();

export function policyOf(setting: Setting, now: number): Policy {
  const policy = policies.get(setting) ?? unpaused(setting);
  policies.set(setting, policy);
  return setting.isPaused ? { ...policy, pausedAt: now } : policy;
}

function unpaused(setting: Setting): Policy {
  const { lateness, limits, customerLimits, secretIds, isCancelable, ...others } = setting;
  const { scheduleMs, taskDeadlineMs, isIndexed, isOperatorNotified } = others;
  const { submitTimeoutMs, submitUnknownMs } = others;
  const polls = new Map(limits === null ? [] : [[CONNECTION, limits]]);
  const own = { scheduleMs, taskDeadlineMs, isIndexed, isOperatorNotified };
  const submit = { submitTimeoutMs, submitUnknownMs };
  const customerPolls = new Map([[CONNECTION, customerLimits]]);
  const outputs = others.areOutputsKept ? OUTPUT_LINKS : null;
  const keys = { customerPolls, sealingIds: new Set(secretIds) };
  const cancel = {
    isCancelable: ({ connection }: ConnectionJob, hasCustomerKey: boolean) =>
      isCancelable && connection === CONNECTION && (hasCustomerKey || limits !== null),
  };
  return aPolicy({ ...own, ...submit, ...keys, ...cancel, outputs, polls, pollLateness: lateness });
}
