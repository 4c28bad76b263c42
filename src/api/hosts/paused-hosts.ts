import { SECOND_MS } from "../../core/time.ts";
import { hostOf } from "../../core/url.ts";
import type { Env } from "../../env.ts";
import type { HostPause } from "../../core/plans/host-pause.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { hostPauses } from "../../objects/host-pauses.ts";
import { deploymentObject } from "../../objects/object-names.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";

/** Time limit in milliseconds for reading the pauses for an answer that is also given without them. */
const TIMEOUT_MS = 2 * SECOND_MS;

/** Reads which hosts are paused now, each with the end of its pause in Unix milliseconds. */
export async function pausedHosts(env: Env): Promise<ReadonlyMap<string, number>> {
  const pauses = await callObject<readonly HostPause[]>(() => readPauses(env));
  return new Map(pauses.map(({ host, until }) => [host, until]));
}

/** Returns the present pauses of hosts. Null when they cannot be read in time. */
export async function presentPauses(env: Env): Promise<readonly HostPause[] | null> {
  const read = () => readPauses(env);
  return await withTimeout<readonly HostPause[] | null>("pauses", read, null, TIMEOUT_MS);
}

async function readPauses(env: Env): Promise<readonly HostPause[]> {
  const startedAt = Date.now();
  const pauses = await deploymentObject(env).hostPauses();
  // Attempts that this isolate starts need not read them again.
  hostPauses(env).note(pauses, startedAt);
  return pauses;
}

/**
 * Checks that a request may be sent to a URL now.
 * @throws Problem `host_paused` when its host is paused.
 */
export async function requireUnpaused(url: string, env: Env): Promise<void> {
  const host = hostOf(url) ?? "";
  const until = (await pausedHosts(env)).get(host);
  if (until === undefined) return;
  const end = new Date(until).toISOString().replace(".000", "");
  throw new Problem("host_paused", { detail: `Callbacks to ${host} are paused until ${end}.` });
}
