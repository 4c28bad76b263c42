import { hostOf } from "../../core/url.ts";
import type { Env } from "../../env.ts";
import type { HostPause } from "../../core/plans/host-pause.ts";
import { hostPauses } from "../../objects/host-pauses.ts";
import { deploymentObject } from "../../objects/object-names.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";

/** Reads which hosts are paused now, each with the end of its pause in Unix milliseconds. */
export async function pausedHosts(env: Env): Promise<ReadonlyMap<string, number>> {
  const startedAt = Date.now();
  const pauses = await callObject<readonly HostPause[]>(() => deploymentObject(env).hostPauses());
  // Attempts that this isolate starts need not read them again.
  hostPauses(env).note(pauses, startedAt);
  return new Map(pauses.map(({ host, until }) => [host, until]));
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
