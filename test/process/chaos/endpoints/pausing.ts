import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../caller.ts";
import type { HostPause } from "./recording.ts";

/** A pause of a host, and when it begins and ends, in seconds after the beginning of the load. */
export interface PausePlan {
  readonly fromS: number;
  readonly untilS: number;
  /** True when the order states the end. Otherwise another order ends the pause. */
  readonly endsByItself: boolean;
}

/** Pauses a host as planned, one pause after the other. @returns the pauses. */
export async function pauseHost(
  caller: Caller,
  host: string,
  plans: readonly PausePlan[],
): Promise<readonly HostPause[]> {
  const startedAt = Date.now();
  const path = `/v1/hosts/${host}/pause`;
  const pauses: HostPause[] = [];
  for (const { fromS, untilS, endsByItself } of plans) {
    await sleep(startedAt + fromS * 1000 - Date.now());
    const untilAtS = Math.floor(startedAt / 1000) + untilS;
    await caller.ask({ method: "PUT", path, body: endsByItself ? { until: untilAtS } : {} }, [200]);
    const orderedAt = Date.now();
    await sleep(untilAtS * 1000 - Date.now());
    const endedAt = endsByItself ? untilAtS * 1000 : Date.now();
    if (!endsByItself) await caller.ask({ method: "DELETE", path }, [204]);
    pauses.push({ host, orderedAt, endedAt });
  }
  return pauses;
}
