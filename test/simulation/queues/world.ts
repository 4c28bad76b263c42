import type { SubmitOutcome, TaskEvent } from "../../../src/core/events/event.ts";
import type { Submission } from "../../../src/core/record/submission.ts";
import { isTerminal, type TaskRecord } from "../../../src/core/record/task.ts";
import { UNCALLED_MS } from "../../../src/objects/call/call-plan.ts";
import { CallObject } from "../../../src/objects/call/call-object.ts";
import { QueueObject } from "../../../src/objects/queue/queue-object.ts";
import { TaskObject } from "../../../src/objects/task/task-object.ts";
import { queuesOf } from "../../../src/providers/provider.ts";
import { NOW, SECOND } from "../../core/builders.ts";
import type { Random } from "../random.ts";
import { callerOf, type Request, submit, type Worker } from "./caller.ts";
import { hasEndedTooSoon, mayRun, recordOf, rowsOf, type StoredRow } from "./facts.ts";
import { Ledger } from "./ledger.ts";
import {
  type Faults,
  type Instance,
  Machine,
  type ObjectKind,
  type Party,
  type Place,
} from "./machine.ts";
import type { Outside, SentCall } from "./outside.ts";
import { namedIn, QueueRules } from "./queue-rules.ts";
import { type Deployment, deploymentOf, type Setting, type Times } from "./setting.ts";
import { type SimulatedJob, Upstream } from "./upstream.ts";

const CLASSES = { TASKS: TaskObject, CALLS: CallObject, QUEUES: QueueObject };

/** Lets work go on whose failure nobody waits for. */
function ignore(work: Promise<unknown>): void {
  void work.catch(() => undefined);
}

/** The methods of a queue that change it. */
const CHANGING: ReadonlySet<string> = new Set(["ask", "refuse", "leave"]);

/** A promise that was broken. */
export interface Violation {
  readonly promise: string;
  readonly detail: string;
}

interface Sent extends SentCall {
  outcome: SubmitOutcome["kind"] | null;
}

/** A relay with limited connections, its clients, and the upstreams. */
export class World {
  readonly seed: number;
  /** The faults until all works again. */
  readonly faults: Faults;
  readonly machine: Machine;
  readonly upstream: Upstream;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Random numbers that decide only what concerns failed jobs. */
  readonly kinds: Random;
  readonly observed = new Set<string>();
  /** What clients were answered, with the number of these answers. */
  readonly answers = new Map<string, number>();
  /** The submissions that were sent to upstreams, in order. */
  readonly sent: Sent[] = [];
  /** Names of the tasks that clients have named. */
  readonly taskIds = new Set<string>();
  violation: Violation | null = null;
  deployment: Deployment;
  readonly #times: Times;
  readonly #rules: QueueRules;
  /** Largest number of places that each connection has had. */
  readonly #mostPlaces = new Map<string, number>();
  /** Times at which Workers and calls asked for the first place of their submission. */
  readonly #askedAt = new Map<string, number>();
  readonly #registeredAt = new Map<string, number>();
  /** Names to which the submissions are addressed. */
  readonly #via = new Map<string, string>();
  /** Submissions whose calls are submitted to further members of the pool when their jobs have failed. */
  readonly #followed = new Set<string>();
  /** The submissions of tasks that have not confirmed that they have left their queues. */
  readonly #inQueues = new Map<string, Submission>();
  /** Status with which the task of each submission has ended. */
  readonly ended = new Map<string, "completed" | "failed">();

  constructor(
    seed: number,
    random: Random,
    faults: Faults,
    setting: Setting,
    times: Times,
    balances: ReadonlyMap<string, number>,
    kinds: Random,
    trace: ((text: string) => void) | null,
  ) {
    this.seed = seed;
    this.faults = faults;
    this.random = random;
    this.kinds = kinds;
    this.#times = times;
    this.deployment = deploymentOf(setting, times);
    this.ledger = new Ledger(balances);
    const report = (promise: string, detail: string) => this.report(promise, detail);
    this.machine = new Machine(NOW, random, (to, ctx) => this.#make(to, ctx), report, trace);
    const observe = (what: string) => this.observe(what);
    this.machine.faults = faults;
    this.#rules = new QueueRules(report, observe, (row, name) => this.#mayRun(row, name));
    this.machine.onFlush = (place) => this.#onFlush(place);
    this.machine.onCall = (place, method, given) => {
      if (place.kind !== "QUEUES" || !CHANGING.has(method)) return null;
      if (method === "ask") this.#checkAsk(given);
      return this.#rules.checkCall(place, method, given);
    };
    const onStart = (job: SimulatedJob) => this.#onStart(job);
    const isFollowed = ({ submissionId }: SentCall) => this.#followed.has(submissionId);
    const onHook = (job: SimulatedJob) => this.#sendHook(job);
    this.upstream = new Upstream(this.machine, kinds, isFollowed, onStart, onHook);
    this.#notePlaces();
  }

  report(promise: string, detail: string): void {
    if (this.violation === null) this.machine.note(() => `BROKEN: ${promise}: ${detail}`);
    this.violation ??= { promise, detail };
  }

  observe(what: string): void {
    this.observed.add(what);
  }

  /** Deploys another configuration: all instances begin anew. */
  deploy(setting: Setting): void {
    this.machine.note(() => `deployed: ${JSON.stringify([...setting.places])}`);
    this.deployment = deploymentOf(setting, this.#times);
    this.#notePlaces();
    for (const kind of ["TASKS", "CALLS", "QUEUES"] as const) {
      for (const { instance } of this.machine.places(kind)) {
        if (instance !== null) this.machine.kill(instance, true);
      }
    }
  }

  #notePlaces(): void {
    const { places } = this.deployment.setting;
    for (const name of ["a", "b", "c"]) {
      const now = places.get(name) ?? Infinity;
      this.#mostPlaces.set(name, Math.max(this.#mostPlaces.get(name) ?? 0, now));
    }
  }

  /** Lets a client send a request to submit a job. */
  request(request: Request): void {
    const party = this.#worker(`client of ${request.taskId}`);
    const { machine } = this;
    const connection = this.deployment.config.connections.get(request.via);
    machine.note(() => `a client sends ${JSON.stringify(request)}`);
    if (connection === undefined) return;
    this.taskIds.add(request.taskId);
    const worker: Worker = {
      party,
      env: this.#envOf(party),
      connection,
      queues: queuesOf(connection),
      begun: (submissionId) => {
        this.#askedAt.set(submissionId, machine.clock.passed);
        this.#via.set(submissionId, request.via);
        if (!request.isAsync) return;
        if (connection.pool?.submitsFailedAgain === true) this.#followed.add(submissionId);
        const stored = { kind: "receiving", body: { bytes: 0, chunks: 0 } };
        const place = machine.place("CALLS", submissionId);
        machine.store(place, "call", stored, machine.clock.now + UNCALLED_MS);
      },
      answered: (what) => {
        machine.note(() => `the client of ${request.taskId} is answered: ${what}`);
        this.observe(`a client is answered: ${what}`);
        this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
      },
    };
    void submit(request, worker);
  }

  /** Lets a client order to cancel or erase its task. */
  order(taskId: string, account: string | null, type: "cancel" | "erase"): void {
    const party = this.#worker(`client of ${taskId}`);
    const cancel =
      account === null ? { type: "cancel", isForced: false } : { type: "cancel_submitted" };
    const event = type === "cancel" ? cancel : { type };
    const place = this.machine.place("TASKS", taskId);
    const caller = callerOf(type === "erase" ? null : account);
    void this.machine.call(party, place, "apply", [event, caller]).then(
      () => this.observe(`a client orders to ${type}`),
      () => undefined,
    );
  }

  #worker(name: string): Party {
    return { name, isDead: false, flush: () => {} };
  }

  #make(instance: Instance, ctx: object): object {
    const { kind } = instance.place;
    return Reflect.construct(CLASSES[kind], [ctx, this.#envOf(instance)]);
  }

  #envOf(party: Party) {
    const { config, policy } = this.deployment;
    const outside = this.#outsideOf(policy);
    const value = { config, party, outside };
    const startup = { runtime: { ok: true, value }, waitUntil: ignore };
    const namespace = (kind: ObjectKind) => this.machine.namespaceFor(party, kind);
    const [TASKS, CALLS, QUEUES] = [namespace("TASKS"), namespace("CALLS"), namespace("QUEUES")];
    // oxlint-disable-next-line typescript/no-explicit-any, typescript/no-unsafe-type-assertion -- the platform is simulated
    return { startup, TASKS, CALLS, QUEUES, party, outside } as any;
  }

  #outsideOf(policy: Outside["policy"]): Outside {
    const { machine, upstream, ledger } = this;
    return {
      policy,
      submit: (from, call, signal) => this.#submit(from, call, signal),
      charge: (from, charge) => machine.send(from, () => ledger.charge(charge)),
      refund: (from, refund) => machine.send(from, () => ledger.refund(refund)),
      poll: (from, poll) =>
        machine.send(from, () =>
          this.#isConfigured(poll.connection) ? upstream.poll(poll) : { kind: "unanswered" },
        ),
      cancel: (from, cancel) => machine.send(from, () => upstream.cancel(cancel)),
    };
  }

  #isConfigured(connection: string): boolean {
    return this.deployment.config.connections.has(connection);
  }

  async #submit(from: Party, call: SentCall, signal: AbortSignal): Promise<SubmitOutcome> {
    if (!this.#isConfigured(call.connection)) return { kind: "not_sent" };
    this.#checkSent(call, "place" in from);
    const sent: Sent = { ...call, outcome: null };
    this.sent.push(sent);
    const unknown: SubmitOutcome = { kind: "unknown", statusCode: null };
    const { promise: late, resolve } = Promise.withResolvers<SubmitOutcome>();
    signal.addEventListener("abort", () => resolve(unknown));
    const answer = this.machine
      .send(from, async () => {
        const outcome = await this.upstream.submit(call);
        sent.outcome = outcome.kind;
        return outcome;
      })
      .catch(() => unknown);
    const outcome = await Promise.race([answer, late]);
    this.observe(`a call is ${outcome.kind}${"refusal" in outcome ? `: ${outcome.refusal}` : ""}`);
    if (call.attempt > 1) this.observe("a further attempt is sent");
    return outcome;
  }

  /** Tells whether calls may arrive late or twice. */
  get #isOutOfOrder(): boolean {
    const { delay, repeat } = this.faults;
    return delay > 0 || repeat > 0;
  }

  /** Requires that a call which waits for another attempt has given back the place of the refused one. */
  #checkAsk(given: readonly unknown[]): void {
    const { id, attempt, mayWait } = namedIn(given);
    const refused = this.sent.findLast((sent) => sent.submissionId === id);
    // Of a Worker, which tells the queue once, the place is found later. A late question may have brought it back.
    if (!mayWait || this.#isOutOfOrder || refused === undefined) return;
    if (refused.attempt >= attempt) return;
    const rows = rowsOf(this.machine.place("QUEUES", refused.connection));
    const row = rows.find(({ submissionId }) => submissionId === id);
    if (row === undefined || row.attempt > refused.attempt) return;
    this.report("a refused attempt has no place when the next waits", `${id} (${attempt})`);
  }

  /** Requires that a call may be sent now. */
  #checkSent(call: SentCall, isByObject: boolean): void {
    const { taskId, submissionId, attempt } = call;
    const earlier = this.sent.filter((sent) => sent.submissionId === submissionId);
    const isRefused = (sent: Sent) => sent.outcome === "refused" || this.#hasFailed(sent);
    if (earlier.some((sent) => !isRefused(sent) || sent.attempt >= attempt)) {
      this.report(
        "a call is sent again only after a proof that it has started nothing, or that its job has failed so that another may succeed",
        taskId,
      );
    }
    const isSecond = this.upstream.jobs.some(
      (job) => job.call.submissionId === submissionId && job.call.connection === call.connection,
    );
    if (isSecond) this.report("each member gets a job of a task at most once", taskId);
    const { submission = null, upstream = null } = recordOf(this.machine, taskId) ?? {};
    if (submission?.id === submissionId && submission.state.kind === "sending") {
      this.#checkAttempt(call, submission, upstream?.connection ?? null);
    } else if (isByObject) {
      // A Worker whose registration was answered late may send a call whose outcome counts as unknown by then.
      this.report("a call is sent while its task waits for the answer", taskId);
    }
  }

  /** Tells whether the job of a call has failed so that the call may be submitted to another member of the pool. */
  #hasFailed({ submissionId, attempt }: SentCall): boolean {
    if (!this.#followed.has(submissionId)) return false;
    const jobs = this.upstream.jobs.filter(({ call }) => call.submissionId === submissionId);
    return jobs.some((job) => job.call.attempt === attempt && job.mayBeFollowed);
  }

  /** Requires that an attempt is sent as the task has stored it, and has a place. */
  #checkAttempt(call: SentCall, submission: Submission, stored: string | null): void {
    const { taskId, submissionId, connection, attempt } = call;
    const { stay, isCall, startedAt } = submission;
    if (stay === undefined) return;
    if (stay.attempt !== attempt || stored !== connection) {
      this.report("a call is sent as its task has stored it", `${taskId} (${attempt})`);
    }
    if (isCall === true && startedAt > stay.startBy) {
      this.report("no call begins after its time to begin is over", taskId);
    }
    const rows = rowsOf(this.machine.place("QUEUES", connection));
    const row = rows.find((each) => each.submissionId === submissionId && !each.isWaiting);
    if (row?.attempt !== attempt && !this.#isLateByWrongClock(submissionId)) {
      this.report("a call that is sent has a place", `${taskId} at ${connection}`);
    }
  }

  /**
   * Tells whether the task of a submission was registered so late after the question for its place that the object of the
   * call may have forgotten it (`UNCALLED_MS`).
   */
  isSlowlyRegistered(submissionId: string): boolean {
    const from = this.#askedAt.get(submissionId) ?? 0;
    const at = this.#registeredAt.get(submissionId) ?? Infinity;
    return at - from > 25 * SECOND;
  }

  /**
   * Tells whether the task of a submission was registered late, and its Worker cannot know this, because the clock was put
   * back.
   */
  #isLateByWrongClock(submissionId: string): boolean {
    return this.machine.putBackMs > 0 && this.isSlowlyRegistered(submissionId);
  }

  /** Tells whether a submission was sent to a connection, and may have a job there. */
  #mayRun({ submissionId, taskId }: StoredRow, connection: string): boolean {
    if (this.#isLateByWrongClock(submissionId)) return false;
    if (!mayRun(recordOf(this.machine, taskId), submissionId, connection)) return false;
    const last = this.sent.findLast((sent) => sent.submissionId === submissionId);
    return last?.connection === connection && last.outcome !== "refused";
  }

  #onStart({ call }: SimulatedJob): void {
    const { connection, submissionId } = call;
    const jobs = this.upstream.jobs.filter((job) => job.call.submissionId === submissionId);
    if (jobs.filter(({ end }) => end === null).length > 1) {
      this.report("a task has one job at a time", call.taskId);
    }
    if (jobs.length > 1) this.observe("a further job follows a failed one");
    const most = this.#mostPlaces.get(connection) ?? Infinity;
    const counted = this.upstream.running(connection).filter((job) => {
      const record = recordOf(this.machine, job.call.taskId);
      const isCounted = mayRun(record, job.call.submissionId, connection);
      const hasPlace = !this.#isLateByWrongClock(job.call.submissionId);
      return isCounted && hasPlace && record?.submission?.stay !== undefined;
    });
    if (counted.length > most) {
      const names = counted.map((job) => job.call.submissionId).join(" ");
      this.report(
        "no more jobs are in flight than the connection permits",
        `${names} (${submissionId})`,
      );
    }
    if (counted.length === most) this.observe("all places of a connection are used");
  }

  #sendHook({ id, call, end }: SimulatedJob): void {
    if (end === null) return;
    const { submissionId, taskId } = call;
    const connection = this.#via.get(submissionId) ?? call.connection;
    const isSigned = this.#followed.has(submissionId) && this.kinds.isLucky(0.5);
    const about = { connection, jobId: id, submissionId, isSigned };
    const event = { type: "hook", ...about, news: end } satisfies TaskEvent;
    const place = this.machine.place("TASKS", taskId);
    const ended = this.machine.call(this.#worker("the upstream"), place, "hook", [event]);
    void ended.catch(() => undefined);
  }

  #onFlush(place: Place): void {
    const { clock } = this.machine;
    if (place.kind === "QUEUES") return this.#rules.check(place, this.deployment, clock.now);
    if (place.kind !== "TASKS") return;
    const record = recordOf(this.machine, place.name);
    this.#checkLeft(place.name, record?.submission ?? null);
    const id = record?.submission?.id;
    if (id === undefined) return;
    if (record !== null) this.#checkEnd(record, id);
    if (!this.#registeredAt.has(id)) this.#registeredAt.set(id, clock.passed);
  }

  /** Requires that a task of which a job ran counts its queues as left only when none has a row of it. */
  #checkLeft(taskId: string, submission: Submission | null): void {
    const known = this.#inQueues.get(taskId);
    if (submission?.stay !== undefined) return void this.#inQueues.set(taskId, submission);
    this.#inQueues.delete(taskId);
    // A late question brings a row back, which the queue finds later. After the first attempt the call may just be asking.
    if (known?.state.kind !== "accepted" || known.stay?.attempt !== 1 || this.#isOutOfOrder) return;
    for (const name of known.stay.connections) {
      const rows = rowsOf(this.machine.place("QUEUES", name));
      if (!rows.some(({ submissionId }) => submissionId === known.id)) continue;
      this.report(
        "a task counts its queues as left only when they know it",
        `${taskId} at ${name}`,
      );
    }
  }

  /** Requires that a task ends once, and not by a failure after which another member of the pool was to be tried. */
  #checkEnd(record: TaskRecord, id: string): void {
    const known = this.ended.get(id);
    if (!isTerminal(record)) {
      if (known !== undefined) this.report("a task that has ended stays as it is", record.id);
      return;
    }
    if (known !== undefined && known !== record.status) {
      this.report("a task that has ended stays as it is", record.id);
    }
    this.ended.set(id, record.status);
    // The job of a connection that was removed cannot be polled.
    const isPolled = this.#isConfigured(record.upstream?.connection ?? "");
    if (known === undefined && isPolled && hasEndedTooSoon(record)) {
      this.report("a job that has failed is followed by one of the next member", record.id);
    }
  }

  /** Tells whether a task exists and has no end yet. */
  isRunning(taskId: string): boolean {
    const record = recordOf(this.machine, taskId);
    if (record === null) return false;
    if (!isTerminal(record)) return true;
    return record.credits?.state.kind === "refunding" || record.submission?.stay !== undefined;
  }
}
