import { setImmediate } from "node:timers";
import type { Random } from "../random.ts";
import { Clock } from "./clock.ts";
import { Storage } from "./storage.ts";
import { RETRYABLE } from "./stubs/cloudflare-durable-objects.ts";

export type ObjectKind = "TASKS" | "CALLS" | "QUEUES";

/** A process that calls others, and may die. A dead one does nothing more, and gets no answer. */
export interface Party {
  readonly name: string;
  isDead: boolean;
  /** Makes durable what was written before anything leaves the party. */
  flush(): void;
}

/** How likely faults are, from 0 to 1. */
export interface Faults {
  /** A call or its answer is lost. */
  readonly loss: number;
  /** A call or its answer is late. */
  readonly delay: number;
  /** A call arrives twice. */
  readonly repeat: number;
  /** A process dies at a step. */
  readonly death: number;
  /** An alarm is late. */
  readonly lateAlarm: number;
}

const NO_FAULTS: Faults = { loss: 0, delay: 0, repeat: 0, death: 0, lateAlarm: 0 };

/** Error of a call whose connection was lost. */
class ConnectionLost extends Error {}
/** Error that every operation of a dead instance throws. */
class Death extends Error {}

type Method = (...given: readonly unknown[]) => unknown;

/** An object of the simulated platform: its storage outlives its instances. */
export class Place {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly storage = new Storage();
  instance: Instance | null = null;
  /** Alarm for which an event is planned. */
  armed: number | null = null;
  isAlarmRunning = false;

  constructor(kind: ObjectKind, name: string) {
    this.kind = kind;
    this.name = name;
  }
}

export class Instance implements Party {
  readonly place: Place;
  readonly name: string;
  isDead = false;
  object: object = {};
  readonly #flushed: (place: Place) => void;

  constructor(place: Place, flushed: (place: Place) => void) {
    this.place = place;
    this.name = `${place.kind} ${place.name}`;
    this.#flushed = flushed;
  }

  flush(): void {
    this.place.storage.flush();
    this.#flushed(this.place);
  }
}

/** Makes the object of an instance with the environment of the deployment. */
export type Maker = (instance: Instance, ctx: object) => object;

/** Number of events that are begun in one turn of the event loop, which would otherwise take most of the time. */
const BATCH = 64;
/** Longest delay of a call or an answer, in milliseconds. */
const LATEST_MS = 2 * 60_000;

/**
 * The simulated platform: objects with storage and alarms, calls between them that get lost, late or repeated, and
 * processes that die. All that happens is decided by the random numbers.
 */
export class Machine {
  readonly clock: Clock;
  readonly random: Random;
  readonly #make: Maker;
  readonly #report: (rule: string, detail: string) => void;
  readonly #trace: ((text: string) => void) | null;
  readonly #places = new Map<string, Place>();
  readonly #dirty = new Set<Instance>();
  /** Is called when what an object has written has become durable. */
  onFlush: (place: Place) => void = () => {};
  /** Is called before a method of an object; what it returns is called when the method has returned. */
  onCall: (place: Place, method: string, given: readonly unknown[]) => (() => void) | null = () =>
    null;
  faults: Faults = NO_FAULTS;
  /** Time by which the clocks were put back, in milliseconds. */
  putBackMs = 0;

  constructor(
    base: number,
    random: Random,
    make: Maker,
    report: (rule: string, detail: string) => void,
    trace: ((text: string) => void) | null,
  ) {
    this.clock = new Clock(base);
    this.random = random;
    this.#make = make;
    this.#report = report;
    this.#trace = trace;
  }

  note(text: () => string): void {
    this.#trace?.(`${(this.clock.passed / 1000).toFixed(3).padStart(10)} ${text()}`);
  }

  places(kind: ObjectKind): readonly Place[] {
    return [...this.#places.values()].filter((place) => place.kind === kind);
  }

  place(kind: ObjectKind, name: string): Place {
    const key = `${kind} ${name}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = new Place(kind, name);
    this.#places.set(key, place);
    return place;
  }

  /**
   * Lets one event after the other happen, each with everything that follows from it at once, until `isOver` returns
   * true.
   */
  run(isOver: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let hasEnded = false;
    // What follows from an event at once are microtasks, which are run between two callbacks of one batch.
    const step = () => {
      if (hasEnded) return;
      try {
        this.#settle();
        hasEnded = isOver();
        if (hasEnded) resolve();
        else this.clock.step();
      } catch (error) {
        hasEnded = true;
        reject(error);
      }
    };
    const batch = () => {
      if (hasEnded) return;
      for (let i = 0; i < BATCH; i++) setImmediate(step);
      setImmediate(batch);
    };
    batch();
    return promise;
  }

  /** Makes durable what the last event has written, or loses it with the instance. */
  #settle(): void {
    for (const instance of this.#dirty) {
      if (instance.isDead) continue;
      if (this.#isLucky(this.faults.death)) this.kill(instance, false);
      else instance.flush();
    }
    this.#dirty.clear();
  }

  /** Ends an instance. @param isKept true when what it has written stays. */
  kill(instance: Instance, isKept: boolean): void {
    if (instance.isDead) return;
    const { place } = instance;
    this.note(() => `${instance.name} dies${isKept ? "" : " and loses what it has written"}`);
    if (isKept) instance.flush();
    else place.storage.lose();
    instance.isDead = true;
    place.instance = null;
    if (!place.isAlarmRunning) return;
    place.isAlarmRunning = false;
    if (place.storage.alarm === null) place.storage.setAlarm(this.clock.now);
    place.storage.flush();
    this.#arm(place);
  }

  /** Puts the clocks of all machines back. */
  putBack(ms: number): void {
    this.clock.base -= ms;
    this.putBackMs += ms;
    this.#armAll();
  }

  /** Ends all faults; alarms that are late come soon. */
  calm(): void {
    this.faults = NO_FAULTS;
    this.#armAll();
  }

  #armAll(): void {
    for (const place of this.#places.values()) {
      place.armed = null;
      this.#arm(place);
    }
  }

  /** Stores a value and an alarm in an object. */
  store(place: Place, key: string, value: unknown, alarmAt: number): void {
    place.storage.put(key, value);
    place.storage.setAlarm(alarmAt);
    place.storage.flush();
    this.#arm(place);
  }

  /** Calls a method of an object. */
  call(from: Party, place: Place, name: string, given: readonly unknown[]): Promise<unknown> {
    const isRetryable = { value: false };
    const deliver = async () => {
      const instance = this.#instanceOf(place);
      if (this.#diesAt(instance)) throw new ConnectionLost();
      const method: unknown = Reflect.get(instance.object, name);
      if (typeof method !== "function") throw new Error(`${instance.name} has no ${name}`);
      isRetryable.value = RETRYABLE.has(method);
      this.note(() => `${from.name} → ${instance.name}.${name}(${JSON.stringify(given)})`);
      const returned = this.onCall(place, name, given);
      const answer: unknown = Reflect.apply(method, instance.object, given);
      returned?.();
      const result: unknown = await answer;
      if (instance.isDead || this.#diesAt(instance)) throw new ConnectionLost();
      instance.flush();
      this.note(() => `${instance.name}.${name} = ${JSON.stringify(result)}`);
      return result;
    };
    const method: unknown = Reflect.get(this.#instanceOf(place).object, name);
    return this.send(from, deliver, RETRYABLE.has(method));
  }

  /**
   * Sends a request to somebody. The request or its answer may be lost or late, and may arrive twice.
   * @param deliver what the receiver does with it.
   * @param isRepeatable true when the platform may repeat it.
   */
  send<T>(from: Party, deliver: () => Promise<T> | T, isRepeatable = false): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (from.isDead) return promise;
    from.flush();
    if (this.#diesAt(from)) return promise;
    const { loss, repeat } = this.faults;
    const later = (run: () => void) =>
      this.clock.after(this.#latency(), () => (from.isDead ? undefined : run()));
    const lose = () => {
      // The sender learns that the connection was lost, or nothing at all.
      if (this.random.isLucky(0.7)) later(() => reject(new ConnectionLost()));
    };
    const arrive = () =>
      void (async () => deliver())().then(
        (result) => (this.#isLucky(loss) ? lose() : later(() => resolve(result))),
        (error) => (this.#isLucky(loss) ? lose() : later(() => reject(error))),
      );
    if (this.#isLucky(loss)) lose();
    else this.clock.after(this.#latency(), arrive);
    if (isRepeatable && this.#isLucky(repeat)) {
      const scaleMs = this.random.pick([100, 1_000, 15_000, 60_000]);
      this.clock.after(this.random.below(scaleMs), arrive);
    }
    return promise;
  }

  /** Returns the namespace of objects as an instance or a Worker sees it. */
  namespaceFor(from: Party, kind: ObjectKind): object {
    const getByName = (name: string) =>
      new Proxy(
        {},
        {
          get:
            (_, method) =>
            (...given: readonly unknown[]) =>
              this.call(from, this.place(kind, name), String(method), given),
        },
      );
    return { getByName, jurisdiction: () => this.namespaceFor(from, kind) };
  }

  /** Tells whether a fault happens. */
  #isLucky(probability: number): boolean {
    return probability > 0 && this.random.isLucky(probability);
  }

  #latency(): number {
    if (!this.#isLucky(this.faults.delay)) return this.random.below(40);
    const scale = this.random.pick([1_000, 5_000, 15_000, LATEST_MS]);
    return this.random.below(scale);
  }

  #diesAt(party: Party): boolean {
    if (!this.#isLucky(this.faults.death)) return false;
    if (party instanceof Instance) this.kill(party, this.random.isLucky(0.5));
    else party.isDead = true;
    return true;
  }

  #instanceOf(place: Place): Instance {
    if (place.instance !== null) return place.instance;
    const instance = new Instance(place, (flushed) => this.#flushed(flushed));
    place.instance = instance;
    instance.object = this.#make(instance, this.#contextOf(instance));
    return instance;
  }

  #flushed(place: Place): void {
    this.#arm(place);
    this.onFlush(place);
  }

  /** Plans the event of an object's alarm, unless it is planned. */
  #arm(place: Place): void {
    const { alarm } = place.storage;
    if (alarm === place.armed) return;
    place.armed = alarm;
    if (alarm === null) return;
    const isLate = this.#isLucky(this.faults.lateAlarm);
    const lateMs = isLate ? this.random.below(10 * 60_000) : this.random.below(50);
    const ms = Math.max(alarm - this.clock.now, 0) + lateMs;
    this.clock.after(ms, () => this.#ring(place, alarm));
  }

  #ring(place: Place, alarm: number): void {
    if (place.armed !== alarm || place.storage.alarm !== alarm || this.clock.now < alarm) return;
    if (place.isAlarmRunning) {
      this.clock.after(1_000, () => this.#ring(place, alarm));
      return;
    }
    const instance = this.#instanceOf(place);
    place.storage.setAlarm(null);
    place.armed = null;
    place.isAlarmRunning = true;
    this.note(() => `${instance.name}.alarm`);
    void this.#handled(instance, alarm);
  }

  async #handled(instance: Instance, scheduledTime: number): Promise<void> {
    const { place } = instance;
    try {
      const handler: unknown = Reflect.get(instance.object, "alarm");
      if (typeof handler !== "function") throw new Error(`${instance.name} has no alarm`);
      await Reflect.apply(handler, instance.object, [{ scheduledTime }]);
    } catch (error) {
      if (instance.isDead) return;
      this.#complain(instance, error);
      if (place.storage.alarm === null) place.storage.setAlarm(this.clock.now + 2_000);
    }
    if (instance.isDead || this.#diesAt(instance)) return;
    place.isAlarmRunning = false;
    instance.flush();
  }

  #complain(instance: Instance, error: unknown): void {
    if (instance.isDead || error instanceof Death || error instanceof ConnectionLost) return;
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    this.#report("no error is uncaught", `${instance.place.kind}: ${text}`);
  }

  #contextOf(instance: Instance): object {
    const { storage } = instance.place;
    const living = () => {
      if (instance.isDead) throw new Death();
      return storage;
    };
    const writing = () => {
      this.#dirty.add(instance);
      return living();
    };
    // Nobody waits for what a dead instance has begun.
    const whileAlive = (work: () => void): Promise<void> => {
      if (instance.isDead) return new Promise(() => {});
      work();
      return Promise.resolve();
    };
    const facade = {
      kv: {
        get: (key: string) => living().get(key),
        put: (key: string, value: unknown) => writing().put(key, value),
        delete: (key: string) => writing().delete(key),
      },
      sql: { exec: (text: string, ...given: unknown[]) => writing().execute(text, given) },
      transactionSync: (work: Method) => work(),
      setAlarm: (at: number) => whileAlive(() => writing().setAlarm(at)),
      deleteAlarm: () => whileAlive(() => writing().setAlarm(null)),
      deleteAll: () => whileAlive(() => writing().clear()),
      sync: () => whileAlive(() => instance.flush()),
    };
    const waitUntil = (work: Promise<unknown>) =>
      void work.catch((error: unknown) => this.#complain(instance, error));
    return { id: { name: instance.place.name }, storage: facade, waitUntil };
  }
}
