import { LIMITS, MINUTE, SECOND, aPolicy, HOUR } from "../../core/builders.ts";
import { configuredWith, connections as variableOf } from "../../core/configuration.ts";
import type { Config } from "../../../src/config/config.ts";
import type { Policy } from "../../../src/core/policy.ts";
import type { Connection } from "../../../src/providers/provider.ts";
import type { Random } from "../random.ts";

/** Name of the pool. */
export const POOL = "pool";

/** The connections of a deployment. */
export interface Setting {
  /** Places by connection; null when the jobs of a connection are not limited. */
  readonly places: ReadonlyMap<string, number | null>;
  /** Members of the pool; null when there is none. */
  readonly pool: readonly string[] | null;
  /** Connection that a fault in its entry disables, and the pool that it is in. Null when there is none. */
  readonly disabled: string | null;
  /** True when a job of the pool that has failed is submitted to the further members. */
  readonly submitsFailedAgain: boolean;
  /** Largest number of submissions that wait, of each name. */
  readonly queueLimit: number;
}

/** What follows from a setting. */
export interface Deployment {
  readonly setting: Setting;
  readonly config: Config;
  readonly policy: Policy;
}

const PLACES = [1, 1, 2, 2, 3, 5] as const;

/** @param kinds random numbers that decide only what concerns failed jobs. */
export function settingFrom(random: Random, kinds: Random): Setting {
  const names = ["a", "b", "c"].slice(0, 1 + random.below(3));
  const places = new Map<string, number | null>(names.map((name) => [name, random.pick(PLACES)]));
  const members = names.filter(() => random.isLucky(0.7));
  const isPool = random.isLucky(0.6) && members.length > 0;
  const submitsFailedAgain = kinds.isLucky(0.35);
  const pool = submitsFailedAgain ? names : isPool ? members : null;
  if (pool !== null && random.isLucky(0.1)) places.set(pool[0] ?? "a", null);
  const queueLimit = random.pick([1_000, 1_000, 1_000, 4, 1, 0]);
  return { places, pool, submitsFailedAgain, disabled: null, queueLimit };
}

/** Returns a setting with another number of places of one connection. */
export function resized(setting: Setting, random: Random): Setting {
  const name = random.pick([...setting.places.keys()]);
  return { ...setting, places: new Map(setting.places).set(name, random.pick(PLACES)) };
}

/** Returns a setting with more places of each connection. */
export function raised(setting: Setting): Setting {
  const places = [...setting.places].map(([name, n]) => [name, n === null ? null : n + 2] as const);
  return { ...setting, places: new Map(places) };
}

/** Returns a setting without a connection: the pool that it is in loses it, and perhaps goes too. */
export function reduced(
  setting: Setting,
  random: Random,
  name = random.pick([...setting.places.keys()]),
): Setting {
  const places = new Map([...setting.places].filter(([each]) => each !== name));
  const rest = setting.pool?.filter((each) => each !== name) ?? [];
  const isPoolKept = rest.length === setting.pool?.length || random.isLucky(0.5);
  return { ...setting, places, pool: isPoolKept && rest.length > 0 ? rest : null };
}

/** Returns a setting in which one connection has a fault, or none has. */
export function faulty(setting: Setting, random: Random): Setting {
  const names = [...setting.places.keys()];
  return { ...setting, disabled: setting.disabled === null ? random.pick(names) : null };
}

const base = baseConfig();

function baseConfig(): Config {
  const result = configuredWith(variableOf({ a: { provider: "ark", key: "k".repeat(16) } }));
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

export interface Times {
  readonly queueMs: number;
  readonly submitUnknownMs: number;
  readonly taskDeadlineMs: number;
  readonly isCancelable: boolean;
  /** Shortest time between two polls of a job, in milliseconds. */
  readonly pollGapMs: number;
}

export function timesFrom(random: Random): Times {
  return {
    queueMs: random.pick([HOUR, HOUR, 10 * MINUTE, 3 * HOUR]),
    submitUnknownMs: random.pick([HOUR, 5 * MINUTE]),
    taskDeadlineMs: random.pick([4 * HOUR, 4 * HOUR, 30 * MINUTE]),
    isCancelable: random.isLucky(0.5),
    pollGapMs: 20 * SECOND,
  };
}

export function deploymentOf(setting: Setting, times: Times): Deployment {
  const model = base.connections.get("a");
  if (model === undefined) throw new Error("the configuration has no connection");
  const { queueLimit, disabled } = setting;
  const all = new Map<string, Connection>();
  for (const [name, inFlight] of setting.places)
    if (name !== disabled) all.set(name, { ...model, name, inFlight, queueLimit });
  const isPoolFaulty = disabled !== null && setting.pool?.includes(disabled) === true;
  const faults = disabled === null ? [] : [disabled, ...(isPoolFaulty ? [POOL] : [])];
  const disabledConnections = faults.map((name) => ({ name, provider: "ark", issues: [] }));
  if (setting.pool !== null && !isPoolFaulty) {
    const members = setting.pool.flatMap((name) => all.get(name) ?? []);
    const pool = { members, submitsFailedAgain: setting.submitsFailedAgain };
    all.set(POOL, { ...model, name: POOL, inFlight: null, queueLimit, pool });
  }
  const asyncTimeoutMs = 600 * SECOND;
  const limits = { ...LIMITS, gapMs: times.pollGapMs };
  const polls = new Map([...all.keys()].map((name) => [name, limits]));
  const isCancelable = () => times.isCancelable;
  const { queueMs, submitUnknownMs, taskDeadlineMs } = times;
  const changes = { polls, asyncTimeoutMs, isCancelable, queueMs, submitUnknownMs, taskDeadlineMs };
  const policy = aPolicy(changes);
  const config = { ...base, connections: all, disabledConnections, asyncTimeoutMs, queueMs };
  return { setting, config, policy };
}

/** Returns how many places a connection has: none while it is disabled. Null when it was removed. */
export function placesOf(
  name: string,
  { connections, disabledConnections }: Config,
): number | null {
  const own = connections.get(name);
  if (own !== undefined) return own.inFlight ?? Infinity;
  return disabledConnections.some((disabled) => disabled.name === name) ? 0 : null;
}
