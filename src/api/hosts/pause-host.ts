import * as z from "zod/mini";
import { MAX_PAUSES, PAUSE_FRESHNESS } from "../../core/plans/host-pause.ts";
import { DAY_MS, SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { log } from "../../lib/log.ts";
import { deploymentObject } from "../../objects/object-names.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { optional, TimeS } from "../http/fields.ts";
import { callObject } from "../http/object-call.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { requireHost } from "./host-name.ts";
import { pausedHosts } from "./paused-hosts.ts";

const DEFAULT_PAUSE_MS = DAY_MS;
const MAX_PAUSE_MS = 7 * DAY_MS;

/** Schema of the body of `PUT /v1/hosts/{host}/pause`. */
const PauseOrder = z.strictObject({ until: optional(TimeS) });

/** Pauses a receiver's host, or moves the end of its pause: no attempt of a callback to it is started meanwhile. */
export const pauseHost = operation(
  "pauseHost",
  { access: "operate", params: ["host"], query: NoQuery, body: PauseOrder },
  async ({ env, caller, params, body }) => {
    const host = requireHost(params.host);
    const since = Date.now();
    const until = endOfPause(body.until, since);
    const by = keyNameOf(caller);
    const order = { host, until, since, by };
    if (!(await callObject<boolean>(() => deploymentObject(env).pauseHost(order)))) {
      const detail = `At most ${MAX_PAUSES} hosts can be paused at the same time.`;
      throw new Problem("pauses_full", { detail });
    }
    log({ event: "host.pause", host, until: toSeconds(until), by });
    await noteChange(env);
    return {
      host,
      paused_until: toSeconds(until),
      seen_within_s: PAUSE_FRESHNESS.waitAfterMs / SECOND_MS,
    };
  },
);

export const pauseHostRoute = routeOf(
  { method: "PUT", path: "/v1/hosts/{host}/pause" },
  pauseHost,
  (paused) => json(paused),
);

/** Ends the pause of a receiver's host. Does nothing when it is not paused. */
export const resumeHost = operation(
  "resumeHost",
  { access: "operate", params: ["host"], query: NoQuery, body: NoBody },
  async ({ env, caller, params }) => {
    const host = requireHost(params.host);
    await callObject<void>(() => deploymentObject(env).resumeHost(host));
    log({ event: "host.resume", host, by: keyNameOf(caller) });
    await noteChange(env);
  },
);

export const resumeHostRoute = routeOf(
  { method: "DELETE", path: "/v1/hosts/{host}/pause" },
  resumeHost,
  () => new Response(null, { status: 204 }),
);

/** Lets the attempts that this isolate starts see a change at once. */
async function noteChange(env: Env): Promise<void> {
  await pausedHosts(env).catch(() => null);
}

/**
 * Returns the end of a pause that is ordered at `now`, both in Unix milliseconds.
 * @param untilS the ordered end, in Unix seconds; null for the default.
 * @throws Problem `invalid_request` when it is past or too far ahead.
 */
function endOfPause(untilS: number | null, now: number): number {
  const until = (untilS ?? toSeconds(now + DEFAULT_PAUSE_MS)) * SECOND_MS;
  if (until <= now) throw invalidRequest([{ path: "/until", message: "must be in the future" }]);
  if (until <= now + MAX_PAUSE_MS) return until;
  throw invalidRequest([{ path: "/until", message: "must be at most 7 days ahead" }]);
}
