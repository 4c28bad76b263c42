import type { CancelAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { PollLimits } from "../../src/core/policy.ts";
import { isOpen, isTerminal } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aRedelivery,
  aReport,
  CONNECTION,
  DAY,
  HOUR,
  LIMITS,
  MINUTE,
  PROCESSING,
  SEALED_WITH,
  SECOND,
  URL_A,
  URL_B,
} from "../core/builders.ts";
import {
  aPricedRegistration,
  aSettledRegistration,
  aUsagePricedRegistration,
  aUsageSettledRegistration,
  PRICE,
} from "../core/credit-builders.ts";
import {
  aHook,
  anAttachment,
  aProvidedRegistration,
  anUpstreamFailure,
  JOB,
  newsAnswer,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  rateLimited,
  UNANSWERED,
  UNAUTHORIZED,
} from "../core/upstream-builders.ts";
import { SEALED_KEY } from "../core/submission-builders.ts";
import { ALL_EVENTS, COPY_ENDS, SUBMISSION } from "./generator.ts";
import type { Action, Move, OutsideEvent } from "./moves.ts";
import { TOO_LONG, TOO_MANY_LINKS } from "./oversized.ts";
import { CANCEL_ENDINGS, POLL_ANSWERS, SENDER_ACTS } from "./parties.ts";
import type { Random } from "./random.ts";
import { FORGETFUL, NAMING, type Setting, STATING } from "./setting.ts";
import { CALL_END, END, END_WITHOUT_JOB, jobIdOf, SEND } from "./submitters.ts";
import type { CallName } from "./simulated-object.ts";
import type { World } from "./world.ts";

/**
 * A course of events that leads to a rare state, with some random details. Each move is chosen when the moves
 * before it have had their effect.
 */
type Scenario = (world: World, random: Random) => Iterable<Move>;

const TWO_OUTPUTS = aCompletion({
  urls: ["https://cdn.example/a.mp4", "https://cdn.example/b.mp4"],
});
const EVENTS = [ALL_EVENTS, ALL_EVENTS, ["completed", "progress"]] as const;
const UNCLEAR: PollAnswer = { kind: "unclear", statusCode: 404, word: null };
const DEFERRED: PollAnswer = { kind: "deferred", waitMs: 100 * SECOND };
/** Number of turns of the event loop within which a run of work ends and the next may begin. */
const TURNS = 7;
/** Largest number of moves in which a scenario waits for a call. */
const PATIENCE = 6;

const ring = (lateMs = 0): Move => ({ kind: "ring", lateMs, isSlow: false });
const pass = (ms: number, isSlow = false): Move => ({ kind: "pass", ms, isSlow });
const crash = (afterPoints = 0): Move => ({ kind: "crash", afterPoints });
const happen = (event: OutsideEvent): Move => ({ kind: "event", event });

/** Deploys a configuration without surprises: the key is there, nothing is paused. */
function deploy({ setting }: World, changes: Partial<Setting> = {}): Move {
  const plain = { scheduleMs: [0, 180_000, 600_000], isPaused: false, limits: LIMITS };
  return { kind: "deploy", setting: { ...setting, ...plain, ...changes } };
}

/** Ends the open call of a kind; the first of another kind when there is none. */
function end({ outside }: World, what: CallName, ending: number): Action {
  const pick = outside.openCalls.findIndex((call) => call.what === what);
  return { kind: "end", pick: Math.max(0, pick), ending };
}

function answer(world: World, given: PollAnswer): Action {
  const isIt = (one: PollAnswer) => JSON.stringify(one) === JSON.stringify(given);
  return end(world, "poll", POLL_ANSWERS.findIndex(isIt));
}

/** Lets alarms fire, and ends other calls with success, until a call of this kind is open. */
function* until(world: World, what: CallName, lateMs = 0): Iterable<Move> {
  for (let i = 0; i < PATIENCE; i++) {
    const { openCalls } = world.outside;
    if (openCalls.some((call) => call.what === what)) return;
    yield openCalls.length > 0 ? { kind: "end", pick: 0, ending: 0 } : ring(lateMs);
  }
}

/** Lets the next poll leave and answers it. */
function* poll(world: World, given: PollAnswer, lateMs = 0): Iterable<Move> {
  yield* until(world, "poll", lateMs);
  yield answer(world, given);
}

function* register(world: World, deadlineMs: number | null, changes: Partial<Setting> = {}) {
  yield deploy(world, changes);
  yield happen(aProvidedRegistration({ job: JOB, deadlineMs }));
}

/** A job succeeds without output, perhaps until its deadline, perhaps with late alarms between. */
function* noOutput(world: World, random: Random): Iterable<Move> {
  yield* register(world, random.pick([null, MINUTE, 5 * MINUTE]));
  const times = 2 + random.below(7);
  const isProcessingFirst = random.isLucky(0.2);
  if (isProcessingFirst) yield* poll(world, newsAnswer(PROCESSING));
  for (let i = 0; i < times; i++) yield* poll(world, newsAnswer(NO_OUTPUT), random.pick([0, 0, 1]));
  if (random.isLucky(0.3)) yield* poll(world, random.pick([rateLimited(), UNANSWERED]));
}

/** A hook says queued or running long after a success without output, while a poll is under way. */
function* hookAfterNoOutput(world: World, random: Random): Iterable<Move> {
  yield* register(world, null, { isIndexed: false, isOperatorNotified: false });
  yield* poll(world, newsAnswer(NO_OUTPUT));
  yield ring(HOUR + random.below(HOUR));
  yield happen(aHook(random.pick([QUEUED, PROCESSING, PROCESSING, PROCESSING])));
  yield answer(world, UNANSWERED);
  yield ring();
}

/** The instance is lost shortly before the wait ends that the provider has named, and another one takes an event. */
function* waitOfProvider(world: World, random: Random): Iterable<Move> {
  yield* register(world, 2 * DAY);
  if (random.isLucky(0.9)) {
    const first = random.pick([newsAnswer(QUEUED), rateLimited(), rateLimited(), rateLimited()]);
    yield* poll(world, first, HOUR);
  }
  yield* poll(world, rateLimited(HOUR), random.pick([0, HOUR]));
  if (random.isLucky(0.5)) {
    yield happen(aHook(random.pick([QUEUED, aCompletion(), aCompletion()])));
    return yield* poll(world, newsAnswer(QUEUED));
  }
  yield pass(HOUR - random.below(20 * SECOND));
  yield crash();
  yield happen(aReport(PROCESSING));
}

/** A task is erased at the end of its retention, and the next one of the same id comes in the same moment. */
function* expiryAndAgain(world: World, random: Random): Iterable<Move> {
  yield deploy(world, { isIndexed: true });
  const created = aReport(aCompletion(), aCreation({ callbackUrl: null }));
  for (let i = 0; i < 4; i++) {
    yield happen(created);
    yield end(world, "writeIndexRow", 0);
    yield { ...ring(), turns: random.below(4) };
  }
}

/** A charge is refused, and the next one of the same id comes while the first task is being erased. */
function* refusedTwice(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield { kind: "adjust", amount: PRICE - 1 - world.ledger.balance };
  for (let i = 0; i < 4; i++) {
    yield happen(aPricedRegistration());
    yield { ...end(world, "charge", 0), turns: random.below(TURNS) };
  }
}

/** A charge is refused, and an earlier call for it arrives when the account has credits again. */
function* refusedCharge(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield { kind: "adjust", amount: PRICE - 1 - world.ledger.balance };
  yield happen(aPricedRegistration());
  yield crash();
  yield happen(aPricedRegistration());
  yield end(world, "charge", 0);
  yield { kind: "adjust", amount: random.pick([1, PRICE]) };
  yield { kind: "arriveLate", pick: 0 };
}

/** A poll waits for its turn, perhaps after a late alarm, perhaps at the end of the provider's memory. */
function* deferredPoll(world: World, random: Random): Iterable<Move> {
  const limits: PollLimits = random.pick([LIMITS, FORGETFUL]);
  yield* register(world, random.pick([null, MINUTE]), { limits });
  yield* until(world, "poll", random.pick([0, HOUR, 2 * HOUR - 30 * SECOND, 2 * HOUR]));
  yield answer(world, DEFERRED);
  if (random.isLucky(0.35)) yield crash();
  yield* poll(world, random.pick([DEFERRED, newsAnswer(QUEUED)]));
}

/** A poll before the deadline waits for its turn, which comes after the deadline. */
function* deferredBeforeDeadline(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE);
  yield* poll(world, DEFERRED);
  yield* poll(world, random.pick([DEFERRED, newsAnswer(PROCESSING), UNANSWERED]));
}

/** A young job is polled, by a provider that allows few polls or that answers slowly. */
function* youngJob(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([LIMITS, NAMING]);
  yield* register(world, null, { limits, lateness: random.pick([0.03, 0.07]) });
  for (let i = 0; i < 3; i++) {
    yield* until(world, "poll");
    if (random.isLucky(0.5)) yield pass(9 * SECOND);
    yield answer(world, newsAnswer(QUEUED));
  }
}

/** A job is polled after days, when the waits between its polls no longer grow. */
function* oldJob(world: World, random: Random): Iterable<Move> {
  yield* register(world, 3 * DAY, { isIndexed: false, lateness: random.pick([0.07, 0.5]) });
  yield* poll(world, newsAnswer(QUEUED), random.pick([5 * HOUR, 2 * DAY]));
  yield* poll(world, newsAnswer(QUEUED));
}

/** A hook claims the end of a job whose poll waits for its turn. */
function* claimWhileDeferred(world: World, random: Random): Iterable<Move> {
  yield* register(world, null);
  yield* poll(world, DEFERRED, random.pick([0, HOUR]));
  yield pass(random.below(60 * SECOND));
  yield happen(aHook(random.pick([aCompletion(), anUpstreamFailure()])));
  yield* poll(world, random.pick([DEFERRED, newsAnswer(QUEUED)]));
  yield* poll(world, newsAnswer(QUEUED));
}

/** The poll of a task that has failed at its deadline waits for its turn. */
function* deferredLatePoll(world: World): Iterable<Move> {
  yield* register(world, MINUTE, { limits: null, isIndexed: false, isOperatorNotified: false });
  yield* until(world, "send");
  yield end(world, "send", 0);
  yield deploy(world, { isIndexed: false, isOperatorNotified: false });
  // The alarm was set while no poll could be made; the end of another attempt sets one for the poll.
  yield happen(aRedelivery());
  yield end(world, "send", 0);
  yield* poll(world, DEFERRED, HOUR);
  yield* poll(world, newsAnswer(QUEUED));
}

/** The poll at the deadline waits for its turn past the time at which the provider forgets the job. */
function* deferredBeyondMemory(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE, { limits: FORGETFUL });
  yield ring(2 * HOUR + random.below(MINUTE));
  yield* poll(world, DEFERRED);
  yield ring();
}

/** The poll of an old job, whose polls are far apart, waits for its turn, and the instance is lost. */
function* deferredOldPoll(world: World): Iterable<Move> {
  yield deploy(world, { lateness: 0.5 });
  yield happen(aProvidedRegistration({ deadlineMs: 2 * DAY }));
  yield happen(anAttachment());
  yield* poll(world, DEFERRED, 12 * HOUR);
  yield crash();
  yield ring();
}

/** A job succeeds after its task has timed out, and several hooks say so. */
function* lateSuccess(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE, { limits: null, isOperatorNotified: true });
  yield ring();
  yield* until(world, "send");
  yield end(world, "send", 0);
  yield deploy(world, { isOperatorNotified: true });
  const news = { ...aCompletion(), ...(random.isLucky(0.5) && { usage: { total_tokens: 7 } }) };
  for (let i = 0; i < 3; i++) yield happen(aHook(news, { isSigned: random.isLucky(0.6) }));
}

/** Unsigned hooks claim the end of a job that is still running. */
function* claimsOfTheEnd(world: World, random: Random): Iterable<Move> {
  yield* register(world, null);
  yield* poll(world, newsAnswer(QUEUED));
  const claim = happen(aHook(random.pick([aCompletion(), anUpstreamFailure(), NO_OUTPUT])));
  yield claim;
  if (random.isLucky(0.3)) {
    yield pass(20 * SECOND);
    yield claim;
  }
  if (random.isLucky(0.7))
    yield* poll(world, newsAnswer(QUEUED), 90 * SECOND + random.below(15 * SECOND));
  for (let i = 0; i < 4; i++) yield* poll(world, newsAnswer(QUEUED));
}

/** An attempt is interrupted while the poll that follows a timeout is overdue. */
function* overdueLatePoll(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE, { limits: null, isIndexed: false, isOperatorNotified: false });
  yield* until(world, "send");
  yield end(world, "send", 0);
  yield deploy(world, { isIndexed: false, isOperatorNotified: false });
  yield pass(HOUR + random.below(HOUR));
  yield happen(aRedelivery({ attempts: 2 }));
  yield crash();
  yield ring();
}

/** The deadline of a job that is still running passes twice, perhaps with another job attached between. */
function* deadlineTwice(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE);
  yield* poll(world, newsAnswer(PROCESSING), MINUTE);
  if (random.isLucky(0.5)) yield happen(anAttachment(OTHER_JOB));
  for (let i = 0; i < 2; i++) yield* poll(world, newsAnswer(PROCESSING), MINUTE);
}

/** A poll leaves before the deadline and is answered after it. */
function* pollAcrossDeadline(world: World, random: Random): Iterable<Move> {
  yield* register(world, MINUTE, { isIndexed: false });
  yield pass(MINUTE - SECOND);
  yield* until(world, "poll");
  yield pass(2 * SECOND, true);
  yield answer(world, random.pick([UNANSWERED, UNANSWERED, newsAnswer(QUEUED), rateLimited()]));
}

/** The hook of a job is expected and does not come. */
function* missingHook(world: World): Iterable<Move> {
  yield deploy(world);
  yield happen(aProvidedRegistration());
  yield happen(anAttachment(JOB, undefined, true));
  for (let i = 0; i < 2; i++) yield* poll(world, newsAnswer(QUEUED));
  yield ring();
}

/** Hooks of one state come twice, and the poll that the first has postponed brings nothing. */
function* hooksOfOneState(world: World, random: Random): Iterable<Move> {
  yield* register(world, null);
  const hook = happen(aHook(random.pick([QUEUED, PROCESSING, PROCESSING])));
  yield hook;
  if (random.isLucky(0.6)) {
    yield pass(SECOND);
    yield hook;
  }
  for (let i = 0; i < 2; i++) yield* poll(world, newsAnswer(QUEUED));
}

/**
 * The upstream tells of a running job by hooks and polls, within and beyond the time in which one progress callback may
 * start, perhaps during a pause of the relay, or until the job ends while a callback is being sent.
 */
function* progressOfJob(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield happen(aProvidedRegistration({ job: JOB, callbackEvents: random.pick(EVENTS) }));
  const times = 2 + random.below(6);
  for (let i = 0; i < times; i++) {
    if (random.isLucky(0.1)) yield deploy(world, { isPaused: random.isLucky(0.7) });
    const progress = random.pick([40, 40, 40, random.below(101)]);
    const hook = happen(aHook(PROCESSING, { isSigned: random.isLucky(0.8), progress }));
    yield random.isLucky(0.5) ? { ...hook, turns: random.below(4) } : hook;
    if (random.isLucky(0.3)) yield* poll(world, newsAnswer(PROCESSING));
    if (random.isLucky(0.6)) yield end(world, "sendProgress", random.below(6));
    const ms = random.pick([1, SECOND, 10 * SECOND, 10 * SECOND, 11 * SECOND]);
    yield pass(ms, random.isLucky(0.3));
  }
  if (random.isLucky(0.3)) return;
  yield pass(11 * SECOND);
  const progress = random.below(101);
  yield { ...happen(aHook(PROCESSING, { isSigned: true, progress })), turns: random.below(4) };
  yield happen(aReport(random.pick([aCompletion(), aFailure()])));
  yield end(world, "sendProgress", random.below(6));
}

/** A refund stays without an answer for a long time, or meets a negative balance. */
function* lateRefund(world: World, random: Random): Iterable<Move> {
  yield deploy(world, { isOperatorNotified: true, isIndexed: false });
  yield { kind: "adjust", amount: 10 * PRICE };
  yield happen(aPricedRegistration());
  yield end(world, "charge", 0);
  if (random.isLucky(0.5)) yield { kind: "adjust", amount: -2 * PRICE - world.ledger.balance };
  yield happen({ type: "cancel", isForced: false });
  const times = random.pick([1, 8, 9, 10]);
  for (let i = 0; i < times; i++) {
    yield* until(world, "refund");
    yield end(world, "refund", 2);
  }
}

/**
 * A task with a price by usage completes, and the answers to its release are lost, perhaps while its callback is sent
 * again, and perhaps over the death of an instance.
 */
function* openRelease(world: World, random: Random): Iterable<Move> {
  const scheduleMs = random.pick([
    [0, 180_000],
    [0, 1, MINUTE],
    [0, 2 * SECOND],
    [0, SECOND],
  ]);
  yield deploy(world, { scheduleMs, isIndexed: random.isLucky(0.3) });
  yield { kind: "adjust", amount: 10 * PRICE };
  const isOwnBilling = random.isLucky(0.5);
  const registration = isOwnBilling ? aUsageSettledRegistration : aUsagePricedRegistration;
  const callbackUrl = random.pick([URL_A, URL_A, URL_A, null]);
  yield happen(registration({ callbackUrl }));
  if (!isOwnBilling) yield end(world, "charge", 0);
  // The last of these costs more than was charged, so that nothing is released.
  const tokens = random.pick([7, 9, 1, 7, 9, 30, 30]);
  yield happen(aReport({ ...aCompletion(), usage: { total_tokens: tokens } }));
  if (tokens === 30) return;
  if (callbackUrl !== null && random.isLucky(0.7)) yield end(world, "send", 1);
  const times = random.pick([1, 1, 2, 3, 9]);
  for (let i = 0; i < times; i++) {
    yield* until(world, "release");
    if (random.isLucky(0.2)) yield happen(aRedelivery());
    if (random.isLucky(0.2)) yield happen({ type: "erase" });
    if (random.isLucky(0.2)) yield crash();
    yield end(world, "release", random.pick([0, 1, 1, 2]));
    if (random.isLucky(0.3)) yield { kind: "arriveLate", pick: 0 };
  }
}

/** A new instance is asked for the task after the time of a poll and before its alarm. */
function* readBeforeAlarm(world: World, random: Random): Iterable<Move> {
  yield* register(world, null, { isIndexed: false });
  if (random.isLucky(0.5)) yield* poll(world, newsAnswer(QUEUED));
  yield crash();
  yield pass(30 * SECOND);
  yield { kind: "read" };
  yield ring();
}

/** Another job is attached while a poll of the first is under way. */
function* anotherJob(world: World, random: Random): Iterable<Move> {
  yield* register(world, null);
  yield* until(world, "poll");
  yield happen(anAttachment(OTHER_JOB));
  const news = random.pick([aCompletion(), anUpstreamFailure(), NO_OUTPUT]);
  yield answer(world, newsAnswer(news));
}

/** The clock steps back, and the platform repeats an alarm whose instance was lost. */
function* clockBack(world: World, random: Random): Iterable<Move> {
  yield deploy(world, { isIndexed: false, isOperatorNotified: false });
  yield happen(aReport(aCompletion(), aCreation()));
  yield end(world, "send", 1 + random.below(5));
  yield crash(1);
  yield ring();
  yield pass(-MINUTE);
  yield { kind: "duplicateAlarm" };
}

/** A new instance gets an alarm while a later one is set, and an attempt is due. */
function* alarmOfAnother(world: World): Iterable<Move> {
  yield deploy(world, { isIndexed: true, isPaused: true, isOperatorNotified: false });
  yield happen(aReport(aCompletion(), aCreation()));
  yield* until(world, "writeIndexRow");
  yield end(world, "writeIndexRow", 0);
  yield { ...deploy(world, { isIndexed: true }), turns: 0 };
  yield { kind: "duplicateAlarm" };
}

/** The row of a task is ordered again after the index has got it, or written again by another instance. */
function* orderedRow(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([LIMITS, null, null]);
  yield* register(world, null, { isIndexed: true, isOperatorNotified: false, limits });
  yield* until(world, "writeIndexRow");
  if (random.isLucky(0.35)) {
    yield crash();
    yield* until(world, "writeIndexRow");
    return yield end(world, "writeIndexRow", 0);
  }
  yield end(world, "writeIndexRow", 0);
  yield happen({ type: "rewrite_index_row", isAlwaysDue: random.isLucky(0.2) });
  yield ring();
}

/** A hook or a poll reports a result that is too large to be stored. */
function* oversizedResult(world: World, random: Random): Iterable<Move> {
  yield* register(world, null, { limits: random.pick([LIMITS, null]) });
  if (random.isLucky(0.2)) return yield* poll(world, newsAnswer(TOO_MANY_LINKS));
  const news = random.pick([TOO_MANY_LINKS, TOO_LONG, TOO_LONG]);
  yield happen(aHook(news, { isSigned: random.isLucky(0.7) }));
}

/** Hooks of several states and jobs come before a job is attached. */
function* hooksBeforeTheJob(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield happen(aProvidedRegistration());
  const news = [QUEUED, PROCESSING, NO_OUTPUT, aCompletion(), anUpstreamFailure()];
  const times = 2 + random.below(5);
  for (let i = 0; i < times; i++) {
    const jobId = random.pick([JOB.id, JOB.id, OTHER_JOB.id, null]);
    yield happen(aHook(random.pick(news), { jobId }));
  }
  if (random.isLucky(0.3)) yield deploy(world, { limits: null });
  const isHookExpected = random.isLucky(0.7);
  yield happen(anAttachment(random.pick([JOB, OTHER_JOB]), undefined, isHookExpected));
  for (let i = 0; i < 3; i++) yield* poll(world, newsAnswer(QUEUED));
}

/** A task without a job comes to its deadline, and only hooks have named a job. */
function* jobOfAHookAtTheDeadline(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([{ ...LIMITS, isTaskNamed: true }, STATING]);
  yield deploy(world, { limits });
  yield happen(aProvidedRegistration({ deadlineMs: MINUTE }));
  for (const { id: jobId } of [JOB, OTHER_JOB]) {
    if (random.isLucky(0.7)) yield happen(aHook(random.pick([aCompletion(), QUEUED]), { jobId }));
  }
  if (random.isLucky(0.5)) yield* poll(world, DEFERRED, MINUTE);
  const answers = [UNANSWERED, UNCLEAR, rateLimited(), newsAnswer(aCompletion())];
  yield* poll(world, random.pick(answers), MINUTE);
  yield ring();
}

/** Callbacks are ordered again with more keys than a task remembers, and with earlier ones. */
function* ordersWithKeys(world: World, random: Random): Iterable<Move> {
  const isHeld = random.isLucky(0.5);
  yield deploy(world, { isPaused: isHeld });
  yield happen(aReport(aCompletion(), aCreation()));
  yield end(world, "send", 0);
  const times = 4 + random.below(10);
  for (let i = 0; i < times; i++) {
    yield happen(
      aRedelivery({
        idempotencyKey: random.pick([null, `k${random.below(3)}`, `k${random.below(11)}`, `k${i}`]),
        orderedBy: random.pick(["operator", "operator", "owner"]),
        callbackUrl: random.pick([null, null, URL_B]),
      }),
    );
    yield end(world, "send", random.below(2));
  }
}

/** A result or an order comes in one of the turns in which the work on the event before it ends. */
function* eventAtTheEndOfARun(world: World, random: Random): Iterable<Move> {
  yield* register(world, null);
  yield* until(world, "poll");
  yield { ...answer(world, newsAnswer(QUEUED)), turns: random.below(TURNS) };
  yield happen(aReport());
  for (let i = 0; i < 4; i++) {
    yield { ...end(world, "send", 0), turns: random.below(TURNS) };
    yield happen(aRedelivery());
  }
}

/** Attempts are cut off by crashes at every point, in the automatic series and in ordered ones. */
function* interruptedAttempts(world: World, random: Random): Iterable<Move> {
  yield deploy(world, { isIndexed: false, isOperatorNotified: false });
  yield happen(aReport(aCompletion(), aCreation()));
  for (let i = 0; i < 7; i++) {
    const { record } = world.disk.written;
    const isOver =
      record !== null && isTerminal(record) && record.callback?.state.kind === "failed";
    if (isOver) yield happen(aRedelivery({ attempts: 3 }));
    else yield* until(world, "send");
    yield random.isLucky(0.5) ? crash(random.below(3)) : end(world, "send", 1);
  }
}

/** A task runs into its deadline while several alarms, deployments and a pause come between. */
function* deadlineUnderPause(world: World, random: Random): Iterable<Move> {
  yield* register(world, random.pick([MINUTE, 2 * DAY]));
  yield deploy(world, { isPaused: true });
  yield ring(random.pick([0, MINUTE, HOUR]));
  const { record } = world.disk.written;
  if (record !== null && isOpen(record) && random.isLucky(0.5)) yield deploy(world);
  yield ring();
}

/** The latest Worker that submits a job does its next act. */
function proceed({ submitters }: World, ending: number, turns?: number): Move {
  const pick = Math.max(0, submitters.list.length - 1);
  return { kind: "submit", pick, ending, ...(turns !== undefined && { turns }) };
}

/** Returns the registration of a task with a submission, and with a price in a part of the cases. */
function submission(random: Random, deadlineMs: number | null = null) {
  const registered = random.pick([
    aProvidedRegistration,
    aPricedRegistration,
    aSettledRegistration,
  ]);
  const endpoint = random.pick([null, "fal/fox", "fal/fox"]);
  const given = registered({ provider: CONNECTION, deadlineMs });
  const hooks = random.isLucky(0.15) ? ({ isHookless: true } as const) : {};
  return { ...given, submission: { ...SUBMISSION, endpoint, ...hooks } };
}

/** Registers a task with a submission, and has its price charged. */
function* submit(
  world: World,
  random: Random,
  changes: Partial<Setting> = {},
  deadlineMs: number | null = null,
) {
  yield deploy(world, { submitUnknownMs: HOUR, submitTimeoutMs: 90 * SECOND, ...changes });
  yield { kind: "adjust", amount: 10 * PRICE } as const;
  const event = submission(random, deadlineMs);
  yield happen(event);
  if (event.chargeId !== null) yield end(world, "charge", 0);
  return event;
}

/** Returns a hook to the URL of the submission whose call was sent last. */
function submissionHook(
  { submitters }: World,
  ...[news, changes]: Parameters<typeof aHook>
): OutsideEvent {
  const submissionId = submitters.sent.at(-1) ?? "";
  return aHook(news, { jobId: jobIdOf(submissionId), submissionId, ...changes });
}

/** A submission is accepted, and its outcome is brought again, perhaps after another job was attached. */
function* acceptedSubmission(world: World, random: Random): Iterable<Move> {
  yield* submit(world, random);
  yield proceed(world, SEND.started);
  const signed = happen(submissionHook(world, QUEUED, { isSigned: true }));
  const other = happen(anAttachment(OTHER_JOB));
  yield* random.pick([[signed], [signed], [other], [other], []]);
  const ends = [END.accepted, END.accepted, END.acceptedUnkept, END.result];
  yield proceed(world, random.pick(ends));
  yield proceed(world, 0);
  if (random.isLucky(0.4)) yield other;
  if (random.isLucky(0.5)) yield proceed(world, 0);
  yield* poll(world, newsAnswer(random.pick([PROCESSING, aCompletion()])));
  yield* poll(world, newsAnswer(aCompletion()));
}

/**
 * Clients read the job of a submission before and during a poll; the answers come in any order, also when the task has
 * another job, has ended or is another one.
 */
function* readsOfTheJob(world: World, random: Random): Iterable<Move> {
  yield* submit(world, random);
  yield proceed(world, SEND.started);
  yield proceed(world, END.accepted);
  yield proceed(world, 0);
  const news = () =>
    newsAnswer(random.pick([QUEUED, PROCESSING, NO_OUTPUT, aCompletion(), anUpstreamFailure()]));
  if (random.isLucky(0.8)) yield { kind: "readJob" };
  yield pass(random.pick([0, SECOND, SECOND, SECOND]));
  if (random.isLucky(0.8)) yield happen(submissionHook(world, aCompletion()));
  yield* until(world, "poll");
  if (random.isLucky(0.5)) yield { kind: "readJob" };
  if (random.isLucky(0.4)) yield answerReader(random.below(2), news());
  if (random.isLucky(0.2)) yield happen(anAttachment(OTHER_JOB));
  if (random.isLucky(0.8)) yield answer(world, random.pick([news(), UNANSWERED, DEFERRED]));
  yield pass(random.pick([0, 1, SECOND, 8 * SECOND]));
  if (random.isLucky(0.2)) yield happen({ type: "erase" });
  if (random.isLucky(0.2)) yield happen(random.pick([submission(random), aProvidedRegistration()]));
  for (let i = 0; i < 2; i++) yield answerReader(0, news());
  yield ring();
}

function answerReader(pick: number, given: PollAnswer): Move {
  const isIt = (one: PollAnswer) => JSON.stringify(one) === JSON.stringify(given);
  return { kind: "answerReader", pick, ending: POLL_ANSWERS.findIndex(isIt) };
}

/** The submission of a task is refused or not sent, and the next task of the same id follows. */
function* refusedSubmission(world: World, random: Random): Iterable<Move> {
  for (let i = 0; i < 2; i++) {
    yield* submit(world, random);
    if (random.isLucky(0.3)) yield proceed(world, SEND.never);
    else {
      yield proceed(world, SEND.refused);
      yield proceed(world, END_WITHOUT_JOB.refused);
    }
    yield proceed(world, 0, random.pick([undefined, random.below(TURNS)]));
    if (random.isLucky(0.3)) yield crash();
    if (random.isLucky(0.3)) yield { kind: "end", pick: 0, ending: 2 };
    yield* until(world, "refund");
    yield end(world, "refund", random.below(3));
    if (random.isLucky(0.5)) yield ring();
  }
  yield proceed(world, 0);
}

/** Returns the registration of a call whose caller does not wait, and about whose job mostly no hook can come. */
function aCall(random: Random, deadlineMs: number | null = null) {
  const event = submission(random, deadlineMs);
  const hooks = random.isLucky(0.8) ? ({ isHookless: true } as const) : {};
  const isByOwner = random.isLucky(0.5);
  return {
    ...event,
    submission: { ...event.submission, ...hooks, isByOwner, isCall: true } as const,
  };
}

/** Registers a call whose caller does not wait, and has its price charged. */
function* registerCall(
  world: World,
  random: Random,
  changes: Partial<Setting> = {},
  deadlineMs: number | null = null,
) {
  yield deploy(world, { areOutputsKept: true, ...changes });
  yield { kind: "adjust", amount: 10 * PRICE } as const;
  const event = aCall(random, deadlineMs);
  yield happen(event);
  if (event.chargeId !== null) yield end(world, "charge", 0);
  return event;
}

/** The latest Worker, or object of a call, dies. */
const lose = ({ submitters }: World): Move => {
  return { kind: "lose", pick: Math.max(0, submitters.list.length - 1) };
};

/** A call is answered with files, its object reports several times, and the operator deletes or erases what was kept. */
function* callWithFiles(world: World, random: Random): Iterable<Move> {
  yield* registerCall(world, random, { areOutputsKept: random.isLucky(0.9) });
  yield proceed(world, 0);
  yield proceed(world, SEND.started);
  yield proceed(world, random.pick([CALL_END.pictures, CALL_END.mixed, CALL_END.speech]));
  if (random.isLucky(0.2)) yield deploy(world, { areOutputsKept: false });
  if (random.isLucky(0.2)) yield lose(world);
  if (random.isLucky(0.2)) yield crash(random.below(4));
  yield proceed(world, 0, random.pick([undefined, random.below(TURNS)]));
  if (random.isLucky(0.3)) yield crash();
  yield proceed(world, 0);
  if (random.isLucky(0.5)) yield happen(deletion(random));
  if (random.isLucky(0.4)) yield ring();
  if (random.isLucky(0.3)) yield happen({ type: "erase" });
}

/** The object of a call dies before, between and after its start and its call, or its report is late. */
function* interruptedCall(world: World, random: Random): Iterable<Move> {
  yield* registerCall(world, random);
  if (random.isLucky(0.3)) yield lose(world);
  if (random.isLucky(0.6)) {
    // The task dies before or after it has stored the start, whose answer is lost.
    yield crash(1 + random.below(6));
    yield proceed(world, 0);
    if (random.isLucky(0.3)) yield pass(MINUTE);
  }
  yield proceed(world, 0, random.pick([undefined, undefined, random.below(TURNS)]));
  if (random.isLucky(0.4)) yield lose(world);
  yield proceed(world, random.pick([SEND.started, SEND.started, SEND.refused]));
  if (random.isLucky(0.4)) yield lose(world);
  yield proceed(world, random.pick([CALL_END.pictures, CALL_END.unanswered, CALL_END.accepted]));
  if (random.isLucky(0.3)) yield ring();
  for (let i = 0; i < 3; i++) yield proceed(world, 0);
}

/** A call waits until its time or its deadline is over, and its object asks around that time. */
function* waitingCall(world: World, random: Random): Iterable<Move> {
  yield* registerCall(world, random, {}, random.pick([null, MINUTE, MINUTE, 2 * DAY]));
  if (random.isLucky(0.4)) yield pass(random.pick([MINUTE, HOUR, 2 * HOUR]));
  else yield ring(random.pick([0, 0, MINUTE]));
  yield proceed(world, 0);
  yield proceed(world, SEND.started);
  yield ring();
}

/** A call is canceled while it waits, at the moment at which its object begins it, or while it is sent. */
function* canceledCall(world: World, random: Random): Iterable<Move> {
  yield* registerCall(world, random, { isCancelable: random.isLucky(0.5) });
  const orders = [ORDER, { type: "cancel", isForced: true }, { type: "cancel_submitted" }] as const;
  const isFirst = random.isLucky(0.6);
  if (isFirst) yield { ...happen(random.pick(orders)), turns: random.below(TURNS) };
  yield proceed(world, 0, random.pick([undefined, random.below(TURNS)]));
  yield happen(random.pick(orders));
  yield proceed(world, SEND.started);
  yield proceed(world, CALL_END.pictures);
  yield proceed(world, 0);
}

/** A call is refused or not sent, or cannot be charged, and perhaps its caller repeats the request in between. */
function* refusedCall(world: World, random: Random): Iterable<Move> {
  const event = random.isLucky(0.7)
    ? yield* registerCall(world, random)
    : yield* unchargedCall(world, random);
  const waiting = { ...event, submission: { ...event.submission, id: "again" } };
  const { isCall: _, ...asWaiting } = waiting.submission;
  const again = random.pick([waiting, waiting, { ...waiting, submission: asWaiting }]);
  if (random.isLucky(0.5)) yield happen(again);
  yield { kind: "submit", pick: 0, ending: 0 };
  if (random.isLucky(0.5)) yield happen(again);
  yield { kind: "submit", pick: 0, ending: random.pick([SEND.refused, SEND.never]) };
  yield { kind: "submit", pick: 0, ending: END_WITHOUT_JOB.refused };
  yield { kind: "submit", pick: 0, ending: 0 };
  if (random.isLucky(0.5)) yield happen(again);
  yield* until(world, "refund");
  yield end(world, "refund", random.below(3));
  yield ring();
}

/** Registers a call whose price is not charged at once. */
function* unchargedCall(world: World, random: Random) {
  yield deploy(world);
  yield { kind: "adjust", amount: 10 * PRICE } as const;
  const known = aCall(random);
  const event = { ...aPricedRegistration({ provider: CONNECTION }), submission: known.submission };
  yield happen(event);
  if (random.isLucky(0.6)) yield happen(event);
  yield { kind: "submit", pick: 0, ending: 0 } as const;
  yield { ...end(world, "charge", random.pick([0, 1, 2])), turns: random.below(TURNS) };
  if (random.isLucky(0.4)) yield crash(random.below(4));
  if (random.isLucky(0.5)) yield ring();
  return event;
}

/** It becomes known in some other way that the job of a submission runs, and then its call is refused. */
function* refusedAfterAProof(world: World, random: Random): Iterable<Move> {
  yield* submit(world, random);
  yield proceed(world, random.pick([SEND.refused, SEND.refused, SEND.never]));
  yield happen(random.pick([anAttachment(OTHER_JOB), aReport(PROCESSING)]));
  yield proceed(world, END_WITHOUT_JOB.refused);
  yield proceed(world, 0);
}

/** The outcome of a submission becomes unknown, and hooks name its job, or no hook comes. */
function* unknownSubmission(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([NAMING, STATING, STATING, LIMITS]);
  const submitUnknownMs = random.pick([HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR]);
  yield* submit(world, random, { limits, submitUnknownMs }, random.pick([null, MINUTE, 2 * DAY]));
  yield proceed(world, SEND.started);
  const isEarly = random.isLucky(0.3);
  if (isEarly) yield happen(submissionHook(world, QUEUED));
  if (random.isLucky(0.5)) yield ring();
  else {
    yield proceed(world, random.pick([END.unanswered, END.unclear]));
    yield proceed(world, 0);
  }
  const times = random.below(3);
  for (let i = 0; i < times; i++) {
    if (random.isLucky(0.3)) yield pass(2 * MINUTE);
    const jobId = random.isLucky(0.4) ? OTHER_JOB.id : undefined;
    const news = random.pick([QUEUED, aCompletion()]);
    const isSigned = limits === LIMITS || random.isLucky(0.1);
    yield happen(submissionHook(world, news, { isSigned, ...(jobId && { jobId }) }));
  }
  if (times > 0 || isEarly) {
    for (let i = 0; i < 2; i++) {
      const limited = random.pick([
        rateLimited(),
        rateLimited(HOUR),
        rateLimited(HOUR),
        rateLimited(HOUR),
      ]);
      const others = [UNANSWERED, UNCLEAR, DEFERRED, newsAnswer(QUEUED)];
      const given = random.pick([limited, limited, ...others]);
      yield* until(world, "poll");
      if (random.isLucky(0.3)) yield happen(aReport(PROCESSING));
      yield answer(world, given);
    }
  }
  yield ring();
}

/** The provider names a long wait when it is asked about a job that a hook has named after an unknown outcome. */
function* limitedSubmission(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([NAMING, STATING]);
  yield* submit(world, random, { limits, submitUnknownMs: 6 * HOUR });
  yield proceed(world, SEND.started);
  yield ring();
  yield happen(submissionHook(world, QUEUED));
  yield* poll(world, rateLimited(HOUR));
  if (random.isLucky(0.5)) yield crash();
  yield* poll(world, random.pick([UNANSWERED, newsAnswer(aCompletion())]));
}

/** A report ends the uncertainty about a submission while the provider is asked about the job that a hook has named. */
function* settledWhileAsked(world: World, random: Random): Iterable<Move> {
  yield* submit(world, random, { limits: random.pick([NAMING, STATING]) }, 2 * DAY);
  yield proceed(world, SEND.started);
  yield proceed(world, END.unanswered);
  yield proceed(world, 0);
  yield happen(submissionHook(world, QUEUED));
  yield* until(world, "poll");
  yield happen(aReport(PROCESSING));
  yield answer(world, random.pick([UNANSWERED, rateLimited(HOUR), newsAnswer(QUEUED)]));
  yield ring();
}

/** A hook names the job of a submission with an unknown outcome after the deadline of its task. */
function* hookAfterTheDeadline(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([NAMING, STATING]);
  yield* submit(world, random, { limits, submitUnknownMs: 6 * HOUR }, MINUTE);
  yield proceed(world, SEND.started);
  yield proceed(world, END.unanswered);
  yield proceed(world, 0);
  yield pass(2 * MINUTE);
  yield happen(submissionHook(world, random.pick([QUEUED, aCompletion()])));
  yield* poll(world, random.pick([UNANSWERED, UNCLEAR, newsAnswer(QUEUED)]));
}

/** No news of the job of a submission comes before its task fails, and perhaps the answer comes after that. */
function* lostSubmission(world: World, random: Random): Iterable<Move> {
  const submitUnknownMs = random.pick([MINUTE, HOUR]);
  yield* submit(world, random, { submitUnknownMs, isIndexed: random.isLucky(0.2) });
  yield proceed(world, random.pick([SEND.started, SEND.refused, SEND.never, SEND.never]));
  const isInTime = random.isLucky(0.5);
  yield ring();
  if (!isInTime) yield ring();
  yield proceed(world, random.pick([END.accepted, END.accepted, END.result]));
  yield proceed(world, 0);
  yield ring();
}

/** The price of a submission is charged without an answer, and its caller repeats the request. */
function* chargedSubmission(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield { kind: "adjust", amount: 10 * PRICE };
  const event = { ...aPricedRegistration({ provider: CONNECTION }), submission: SUBMISSION };
  yield happen(event);
  if (random.isLucky(0.5)) yield happen(event);
  yield { ...end(world, "charge", random.pick([0, 1, 2])), turns: random.below(TURNS) };
  if (random.isLucky(0.4)) yield crash(random.below(4));
  yield happen(event);
  yield proceed(world, random.pick([SEND.started, SEND.never]));
  yield proceed(world, END.accepted);
  yield ring();
  yield end(world, "charge", random.below(2));
  yield ring();
}

/** A caller repeats a submission in each of its states, with the same or with another request. */
function* repeatedSubmission(world: World, random: Random): Iterable<Move> {
  const event = yield* submit(world, random);
  const other = { ...event, submission: { ...SUBMISSION, requestDigest: "another" } };
  const again = () => happen(random.isLucky(0.7) ? event : other);
  if (random.isLucky(0.7)) yield again();
  yield proceed(world, SEND.started);
  if (random.isLucky(0.7)) yield again();
  if (random.isLucky(0.4)) yield { kind: "submit", pick: 0, ending: SEND.started };
  yield proceed(world, random.pick([END.accepted, END.unanswered]));
  yield proceed(world, 0);
  yield again();
}

/** An order or a report comes while the call of a submission is under way. */
function* orderWhileSending(world: World, random: Random): Iterable<Move> {
  const isHooked = random.isLucky(0.6);
  yield* submit(world, random, { limits: random.pick([LIMITS, null]) });
  yield proceed(world, SEND.started);
  if (isHooked) {
    const news = random.pick([aCompletion(), anUpstreamFailure(), anUpstreamFailure(), PROCESSING]);
    yield happen(submissionHook(world, news, { isSigned: random.isLucky(0.7) }));
  } else {
    const orders = [
      { type: "cancel", isForced: false },
      { type: "cancel", isForced: false },
      { type: "erase" },
      aReport(),
    ] as const;
    yield happen(random.pick(orders));
  }
  yield proceed(world, END.accepted);
  yield proceed(world, 0);
}

/** Hooks and outcomes of an earlier life of a task come to the next task with the same id. */
function* earlierSubmission(world: World, random: Random): Iterable<Move> {
  yield* submit(world, random, { isPaused: false });
  yield proceed(world, SEND.started);
  yield proceed(world, END.result);
  yield proceed(world, 0);
  const { record } = world.disk.written;
  if (record !== null && isTerminal(record) && record.callback !== null) {
    yield* until(world, "send");
    yield end(world, "send", 0);
  }
  yield happen({ type: "erase" });
  const earlier = submissionHook(world, random.pick([QUEUED, aCompletion()]), {
    isSigned: random.isLucky(0.7),
  });
  yield* submit(world, random, { limits: random.pick([LIMITS, STATING]) });
  if (random.isLucky(0.5)) yield proceed(world, random.pick([SEND.started, SEND.refused]));
  if (random.isLucky(0.4)) yield ring();
  yield random.isLucky(0.5) ? happen(earlier) : { kind: "submit", pick: 0, ending: 0 };
  yield ring();
}

/** The deadline of a task passes while its submission is under way, and hooks have named a job. */
function* deadlineWhileSending(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([NAMING, STATING]);
  yield* submit(world, random, { limits, submitTimeoutMs: 10 * MINUTE }, MINUTE);
  yield proceed(world, SEND.started);
  yield happen(submissionHook(world, random.pick([QUEUED, aCompletion()])));
  yield pass(2 * MINUTE);
  if (random.isLucky(0.5)) yield crash();
  yield ring();
  const isAnswered = random.isLucky(0.5);
  if (isAnswered) yield proceed(world, random.pick([END.accepted, END.unanswered]));
  yield proceed(world, END.unanswered);
  yield ring();
}

/** Submits a job with a key of the customer, which this secret seals, and has it accepted. */
function* submitOwn(world: World, changes: Partial<Setting>, deadlineMs: number | null = null) {
  yield deploy(world, { submitUnknownMs: HOUR, submitTimeoutMs: 90 * SECOND, ...changes });
  const submitted = { ...SUBMISSION, customerKey: SEALED_KEY };
  yield happen({ ...aProvidedRegistration({ deadlineMs }), submission: submitted });
  yield proceed(world, SEND.started);
  yield proceed(world, END.accepted);
  yield proceed(world, 0);
}

/** A task with a customer's key fails at its deadline, its job is polled later, and the key is needed no more. */
function* lateWithOwnKey(world: World, random: Random): Iterable<Move> {
  const quiet = { isIndexed: false, isOperatorNotified: false, isCancelable: false };
  const changes = { ...quiet, secretIds: [SEALED_WITH], customerLimits: LIMITS };
  yield* submitOwn(world, changes, MINUTE);
  yield* poll(world, UNANSWERED, MINUTE);
  yield* until(world, "send");
  yield end(world, "send", 0);
  if (random.isLucky(0.4)) yield crash();
  yield* poll(world, newsAnswer(QUEUED), random.pick([0, 0, HOUR]));
  if (random.isLucky(0.3)) yield happen(submissionHook(world, aCompletion()));
  if (random.isLucky(0.3)) yield happen(aRedelivery());
  for (let i = 0; i < 3; i++) {
    yield ring(random.pick([0, 0, MINUTE]));
    if (world.outside.openCalls.length > 0) yield end(world, "poll", 2);
  }
}

/** The secret that has sealed a customer's key goes, perhaps comes back, and the hook of the job comes. */
function* ownKeyWithoutSecret(world: World, random: Random): Iterable<Move> {
  const secretIds = [SEALED_WITH];
  const isNoticed = random.isLucky(0.5);
  const changes = { secretIds, isOperatorNotified: isNoticed, isIndexed: false };
  yield* submitOwn(world, changes, random.pick([null, MINUTE]));
  yield deploy(world, { ...changes, secretIds: ["secret-2"] });
  if (random.isLucky(0.8)) yield ring();
  if (random.isLucky(0.5)) {
    yield deploy(world, { ...changes, secretIds: ["secret-2", SEALED_WITH] });
    if (random.isLucky(0.8)) yield ring();
  }
  const news = random.pick([PROCESSING, aCompletion(), aCompletion(), anUpstreamFailure()]);
  if (random.isLucky(0.7)) {
    yield happen(submissionHook(world, news, { isSigned: random.isLucky(0.5) }));
  }
  yield ring();
}

/** A hook about the job of a customer's key, signed with whatever secret, comes before the relay has polled. */
function* signedForCustomer(world: World, random: Random): Iterable<Move> {
  yield* submitOwn(world, { secretIds: [SEALED_WITH], limits: random.pick([LIMITS, null]) });
  if (random.isLucky(0.4)) yield* poll(world, random.pick([UNAUTHORIZED, newsAnswer(QUEUED)]));
  const news = random.pick([PROCESSING, aCompletion(), anUpstreamFailure()]);
  yield happen(submissionHook(world, news, { isSigned: true }));
  yield* poll(world, random.pick([UNAUTHORIZED, newsAnswer(QUEUED), newsAnswer(aCompletion())]));
}

/** Lets the next call leave that cancels a job; polls before it are answered so, by default that the job is queued. */
function* untilCanceling(
  world: World,
  lateMs = 0,
  given: PollAnswer = newsAnswer(QUEUED),
): Iterable<Move> {
  for (let i = 0; i < PATIENCE; i++) {
    const { openCalls } = world.outside;
    if (openCalls.some(({ what }) => what === "cancelJob")) return;
    if (openCalls.some(({ what }) => what === "poll")) yield answer(world, given);
    else yield openCalls.length > 0 ? { kind: "end", pick: 0, ending: 0 } : ring(lateMs);
  }
}

/** Lets the next call leave that cancels a job, and ends it with such an answer. @param isDone whether it stops the job. */
function* cancelCall(
  world: World,
  kind: CancelAnswer["kind"],
  isDone: boolean,
  lateMs = 0,
  given?: PollAnswer,
): Iterable<Move> {
  yield* untilCanceling(world, lateMs, given);
  const ending = CANCEL_ENDINGS.findIndex((one) => {
    return one.answer.kind === kind && one.isDone === isDone;
  });
  yield end(world, "cancelJob", Math.max(0, ending));
}

/** Registers a task, perhaps with a price, and with a job that can be canceled. */
function* registerCancelable(world: World, random: Random, deadlineMs: number | null) {
  yield deploy(world, { isCancelable: true, isIndexed: random.isLucky(0.3) });
  yield { kind: "adjust", amount: 10 * PRICE } as const;
  const registered = random.pick([
    aProvidedRegistration,
    aPricedRegistration,
    aSettledRegistration,
  ]);
  const event = registered({ provider: CONNECTION, job: JOB, deadlineMs });
  yield happen(event);
  if (event.chargeId !== null) yield end(world, "charge", 0);
}

const ORDER = { type: "cancel", isForced: false } as const;
const CANCEL_KINDS: readonly CancelAnswer["kind"][] = [
  "canceled",
  "canceled",
  "accepted",
  "ended",
  "refused",
  "refused",
  "unclear",
];

const UNCONFIRMED_KINDS = ["accepted", "ended", "refused", "refused", "unclear"] as const;

/** A job is canceled: the upstream confirms it, refuses it, or says that the job has ended. */
function* canceledJob(world: World, random: Random): Iterable<Move> {
  yield* registerCancelable(world, random, random.pick([null, 2 * DAY]));
  if (random.isLucky(0.3)) yield* poll(world, newsAnswer(QUEUED));
  yield happen(ORDER);
  const other = anAttachment(OTHER_JOB);
  if (random.isLucky(0.3)) yield happen(random.pick([ORDER, other, other]));
  if (random.isLucky(0.2)) yield crash(random.below(4));
  const kind = random.pick(CANCEL_KINDS);
  yield* cancelCall(world, kind, random.isLucky(0.5));
  if (random.isLucky(0.2)) yield happen(other);
  if (random.isLucky(0.5)) yield happen({ ...ORDER, isForced: random.isLucky(0.7) });
  else {
    const ends = [aCompletion(), anUpstreamFailure(), QUEUED, QUEUED];
    yield* poll(world, random.pick([...ends.map(newsAnswer), UNANSWERED]));
  }
  yield* poll(world, random.pick([newsAnswer(aCompletion()), newsAnswer(QUEUED)]));
}

/** Calls that cancel a job get no answer, although the first of them may have arrived. */
function* unansweredCancel(world: World, random: Random): Iterable<Move> {
  yield* registerCancelable(world, random, null);
  yield happen(ORDER);
  const calls = random.pick([3, 4, 4]);
  for (let i = 0; i < calls; i++) {
    yield* cancelCall(world, "unanswered", random.isLucky(0.3), random.pick([0, 0, MINUTE]));
    if (random.isLucky(0.2)) yield crash();
    if (random.isLucky(0.2)) yield happen(random.pick([ORDER, anAttachment(OTHER_JOB)]));
  }
  const times = 1 + random.below(3);
  for (let i = 0; i < times; i++) yield* poll(world, newsAnswer(QUEUED));
}

/** Another job is attached while a call cancels the first one, and the call is answered then. */
function* otherJobDuringCancel(world: World, random: Random): Iterable<Move> {
  yield* registerCancelable(world, random, random.pick([null, MINUTE]));
  yield happen(ORDER);
  yield* untilCanceling(world);
  yield happen(anAttachment(OTHER_JOB));
  yield* cancelCall(world, random.pick(["canceled", "canceled", ...UNCONFIRMED_KINDS]), true);
  yield* cancelCall(world, random.pick(CANCEL_KINDS), random.isLucky(0.5));
  yield* poll(world, newsAnswer(QUEUED));
}

/** The upstream does not confirm the order to cancel a job, which is found to be canceled, to go on, or to have ended. */
function* unconfirmedCancel(world: World, random: Random): Iterable<Move> {
  yield* registerCancelable(world, random, null);
  if (random.isLucky(0.4)) yield* poll(world, newsAnswer(QUEUED), HOUR);
  yield happen(ORDER);
  yield* cancelCall(world, random.pick(UNCONFIRMED_KINDS), random.isLucky(0.3));
  if (random.isLucky(0.4)) yield happen(ORDER);
  const times = 1 + random.below(7);
  for (let i = 0; i < times; i++) {
    if (random.isLucky(0.3)) yield* poll(world, DEFERRED);
    yield* poll(world, random.pick([newsAnswer(QUEUED), newsAnswer(QUEUED), UNANSWERED]));
  }
  yield* poll(world, newsAnswer(random.pick([aCompletion(), anUpstreamFailure()])));
}

/** A job is canceled at the deadline of its task, after the one extension, perhaps during an order. */
function* cancelAtDeadline(world: World, random: Random): Iterable<Move> {
  yield* registerCancelable(world, random, MINUTE);
  if (random.isLucky(0.6)) yield* poll(world, newsAnswer(PROCESSING), MINUTE);
  if (random.isLucky(0.4)) {
    yield happen(ORDER);
    yield* cancelCall(world, random.pick(["accepted", "accepted", "refused", "unanswered"]), false);
  }
  yield* poll(world, random.pick([newsAnswer(PROCESSING), UNANSWERED, UNANSWERED]), MINUTE);
  if (random.isLucky(0.15)) yield crash(random.below(3));
  if (random.isLucky(0.1)) yield happen(random.pick([ORDER, anAttachment(OTHER_JOB)]));
  const kind = random.pick(["canceled", "accepted", "ended", ...UNCONFIRMED_KINDS] as const);
  const unanswered = ["unanswered", "unanswered", "unanswered"] as const;
  const isSilent = random.isLucky(0.25);
  const kinds = isSilent
    ? unanswered
    : random.pick([unanswered, [kind], [kind], [kind], ["unanswered", kind]] as const);
  const lateMs = random.pick([0, 0, 20 * SECOND, HOUR]);
  if (isSilent) {
    for (let i = 0; i < 2; i++) {
      yield* untilCanceling(world);
      yield pass(10 * SECOND);
    }
    yield ring(random.pick([0, MINUTE]));
  }
  const given = isSilent ? DEFERRED : newsAnswer(QUEUED);
  for (const each of kinds) yield* cancelCall(world, each, random.isLucky(0.3), lateMs, given);
  if (random.isLucky(0.7)) yield happen(ORDER);
  const answers = [
    newsAnswer(PROCESSING),
    newsAnswer(anUpstreamFailure()),
    UNANSWERED,
    newsAnswer(aCompletion()),
  ];
  for (let i = 0; i < 3; i++) yield* poll(world, random.pick(answers));
}

/** An account or the operator cancels a job that the relay has submitted. */
function* canceledSubmission(world: World, random: Random): Iterable<Move> {
  const isCancelable = random.isLucky(0.7);
  yield deploy(world, { isCancelable });
  yield { kind: "adjust", amount: 10 * PRICE };
  const given = random.pick([aProvidedRegistration, aPricedRegistration])({ provider: CONNECTION });
  const isByOwner = !isCancelable || random.isLucky(0.4);
  const event = { ...given, submission: { ...SUBMISSION, isByOwner } };
  yield happen(event);
  if (event.chargeId !== null) yield end(world, "charge", 0);
  if (random.isLucky(0.2)) yield happen({ type: "cancel_submitted" });
  yield proceed(world, SEND.started);
  yield proceed(world, random.pick([END.accepted, END.accepted, END.accepted, END.unanswered]));
  yield proceed(world, 0);
  yield happen({ type: "cancel_submitted" });
  yield* cancelCall(world, random.pick(CANCEL_KINDS), random.isLucky(0.5));
  yield* poll(world, newsAnswer(QUEUED));
}

/** A job of a customer's key is canceled, perhaps when the secret that has sealed the key is gone. */
function* canceledWithOwnKey(world: World, random: Random): Iterable<Move> {
  const limits = random.pick([LIMITS, null, null]);
  const changes = { secretIds: [SEALED_WITH], isCancelable: true, limits };
  yield* submitOwn(world, changes, random.pick([null, MINUTE]));
  if (random.isLucky(0.4)) yield deploy(world, { ...changes, secretIds: ["secret-2"] });
  if (random.isLucky(0.7)) yield happen({ type: "cancel", isForced: false });
  else yield* poll(world, UNANSWERED, MINUTE);
  yield* cancelCall(world, random.pick(CANCEL_KINDS), random.isLucky(0.5));
  yield* poll(world, newsAnswer(QUEUED));
}

/**
 * A task ends with two outputs that the relay copies, perhaps for a customer's key. Orders to copy them are refused, and
 * copies end, are reported again, and are deleted before and after, one or all. The task may be erased while they are under way.
 */
function* keptOutputs(world: World, random: Random): Iterable<Move> {
  // The second attempt of the shorter schedule comes just after the order is repeated.
  const scheduleMs = random.pick([
    [0, 180_000, 600_000],
    [0, 61_000],
  ]);
  const changes = { areOutputsKept: true, isOperatorNotified: true, scheduleMs };
  if (random.isLucky(0.4)) yield* submitOwn(world, { ...changes, secretIds: [SEALED_WITH] }, null);
  else yield* register(world, null, changes);
  if (random.isLucky(0.5)) yield pass(random.pick([SECOND, HOUR]));
  yield happen(aReport(TWO_OUTPUTS));
  if (random.isLucky(0.3)) yield happen(aReport(TWO_OUTPUTS));
  if (random.isLucky(0.6)) yield end(world, "send", random.below(8));
  if (random.isLucky(0.5)) yield happen(deletion(random));
  if (random.isLucky(0.5)) {
    yield* until(world, "orderCopies");
    yield end(world, "orderCopies", random.below(2));
  }
  for (let i = random.below(4); i >= 0; i--) {
    yield happen(random.isLucky(0.4) ? deletion(random) : endOfCopy(world, random));
    if (random.isLucky(0.3)) yield ring();
  }
  if (random.isLucky(0.3)) yield happen({ type: "erase" });
}

/** An order to copy outputs is answered when its task is erased and another one with the same id has ended. */
function* orderOfAnErasedTask(world: World): Iterable<Move> {
  yield* register(world, null, { areOutputsKept: true, isOperatorNotified: false });
  yield happen(aReport(TWO_OUTPUTS));
  yield end(world, "send", 0);
  yield* until(world, "orderCopies");
  yield happen({ type: "erase" });
  yield { ...end(world, "orderCopies", 0), turns: 0 };
  yield happen(aReport(TWO_OUTPUTS, aCreation()));
}

/** Notices without an answer follow each other, and then a write to the index, until an attempt is due. */
function* callsUntilAnAttempt(world: World): Iterable<Move> {
  const changes = { areOutputsKept: true, isIndexed: true, isOperatorNotified: true };
  yield* register(world, null, { ...changes, scheduleMs: [0, 61_000] });
  yield happen(aReport(TWO_OUTPUTS));
  yield ring();
  yield* until(world, "orderCopies");
  yield end(world, "orderCopies", 0);
  const recordedAt = world.disk.written.record?.recordedAt ?? 0;
  for (const number of [1, 2]) {
    const ended = [{ number, state: { kind: "lost", reason: "too_large" } }] as const;
    yield happen({ type: "copies_ended", recordedAt, ended });
  }
  yield ring();
}

function deletion(random: Random): OutsideEvent {
  return { type: "delete_outputs", number: random.pick([1, 2, 3, null]) };
}

/** Returns a report of the end of one copy, perhaps of an earlier task with the same id. */
function endOfCopy({ disk }: World, random: Random): OutsideEvent {
  const recordedAt = (disk.written.record?.recordedAt ?? 0) - random.pick([0, 0, 0, 1]);
  const ended = [{ number: random.pick([1, 2]), state: random.pick(COPY_ENDS) }];
  return { type: "copies_ended", recordedAt, ended };
}

/** All scenarios with their weights: a mistake that few random details of a scenario show needs more of it. */
const SCENARIOS: readonly (readonly [weight: number, scenario: Scenario])[] = [
  [6, noOutput],
  [6, hookAfterNoOutput],
  [11, waitOfProvider],
  [5, expiryAndAgain],
  [4, refusedTwice],
  [3, refusedCharge],
  [4, deferredPoll],
  [2, deferredBeforeDeadline],
  [4, deferredBeyondMemory],
  [6, deferredOldPoll],
  [3, claimWhileDeferred],
  [2, deferredLatePoll],
  [6, youngJob],
  [3, oldJob],
  [4, lateSuccess],
  [9, claimsOfTheEnd],
  [3, overdueLatePoll],
  [5, deadlineTwice],
  [6, pollAcrossDeadline],
  [1, missingHook],
  [7, hooksOfOneState],
  [9, progressOfJob],
  [7, lateRefund],
  [20, openRelease],
  [4, readBeforeAlarm],
  [5, anotherJob],
  [3, clockBack],
  [4, alarmOfAnother],
  [7, oversizedResult],
  [3, hooksBeforeTheJob],
  [7, jobOfAHookAtTheDeadline],
  [8, ordersWithKeys],
  [7, eventAtTheEndOfARun],
  [3, interruptedAttempts],
  [5, slowAttempts],
  [4, slowAttemptOfAnErasedTask],
  [1, deadlineUnderPause],
  [7, orderedRow],
  [11, acceptedSubmission],
  [15, readsOfTheJob],
  [2, refusedSubmission],
  [3, refusedAfterAProof],
  [11, unknownSubmission],
  [2, limitedSubmission],
  [5, settledWhileAsked],
  [3, hookAfterTheDeadline],
  [8, lostSubmission],
  [1, chargedSubmission],
  [2, repeatedSubmission],
  [5, orderWhileSending],
  [9, callWithFiles],
  [8, interruptedCall],
  [5, waitingCall],
  [7, canceledCall],
  [9, refusedCall],
  [5, earlierSubmission],
  [3, deadlineWhileSending],
  [8, lateWithOwnKey],
  [13, ownKeyWithoutSecret],
  [6, signedForCustomer],
  [12, canceledJob],
  [8, unansweredCancel],
  [6, otherJobDuringCancel],
  [13, unconfirmedCancel],
  [20, cancelAtDeadline],
  [9, canceledSubmission],
  [9, canceledWithOwnKey],
  [22, keptOutputs],
  [3, orderOfAnErasedTask],
  [4, callsUntilAnAttempt],
];

/** Senders go on without the object, which may die, and report the ends of their attempts at once, late or again. */
function* slowAttempts(world: World, random: Random): Iterable<Move> {
  yield deploy(world);
  yield happen(aReport(random.pick([aCompletion(), aFailure()]), aCreation()));
  for (let i = 0; i < 4; i++) {
    yield { kind: "defer" };
    if (random.isLucky(0.3)) yield crash();
    yield pass(random.pick([SECOND, 3 * SECOND, 20 * SECOND]), random.isLucky(0.3));
    if (random.isLucky(0.3)) yield ring();
    const act = random.below(SENDER_ACTS);
    for (let n = random.below(3); n >= 0; n--) {
      yield { kind: "sender", pick: i, act };
      yield pass(SECOND);
    }
    yield ring();
  }
}

/** The end of a slow attempt is reported when its task was erased and its id is used by another. */
function* slowAttemptOfAnErasedTask(world: World, random: Random): Iterable<Move> {
  yield deploy(world, { scheduleMs: [0] });
  const finish = happen(aReport(aCompletion(), aCreation()));
  yield finish;
  yield { kind: "defer" };
  yield ring();
  yield happen({ type: "erase" });
  yield finish;
  const deferral = random.isLucky(0.5);
  if (deferral) yield { kind: "defer" };
  yield { kind: "sender", pick: 0, act: random.below(SENDER_ACTS) };
  if (random.isLucky(0.5)) yield { kind: "sender", pick: 0, act: 0 };
  yield deferral ? { kind: "sender", pick: 1, act: random.below(SENDER_ACTS) } : ring();
}

/** Returns the moves of one of the scenarios. */
export function directedMoves(world: World, random: Random): Iterable<Move> {
  return random.weighted(SCENARIOS)(world, random);
}
