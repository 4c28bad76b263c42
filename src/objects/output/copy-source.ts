import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import { isFetchedWithKey } from "../../config/linked-outputs.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { CopyOrder } from "../../core/duties/copy-order.ts";
import { DAY_MS } from "../../core/time.ts";
import type { Source } from "../../outbound/open-source.ts";
import { connectionOf, keyHeadersOf } from "../../outbound/upstream-connection.ts";
import { inlinePointer } from "../../providers/inline-output.ts";

/**
 * Time in milliseconds for which the relay tries the links to outputs of a provider that does not document how long its
 * links work.
 */
const USUAL_LINK_LIFE_MS = DAY_MS;

/** The part of an order to copy outputs that decides from where an output is fetched, and with which key. */
type Origin = Pick<CopyOrder, "taskId" | "origin" | "connection" | "customerKey" | "isUnproven">;

/**
 * Returns the upstream's link to an output, together with what is needed to fetch it. Headers with the key of the
 * connection or of the customer are included only if the output is fetched with a key (config/linked-outputs.ts).
 */
export async function sourceOf(
  { taskId, origin, connection: name, customerKey, ...proof }: Origin,
  url: string,
  runtime: Runtime,
): Promise<Source> {
  const rules = sourceUrlRulesOf(runtime.config, origin);
  const isKeyed = isFetchedWithKey(
    { ...proof, source: url },
    runtime.config.connections.get(name ?? ""),
  );
  if (name === null || !isKeyed) return { url, rules, keyHeaders: {}, pointer: null };
  const connection = await connectionOf({ taskId, connection: name, customerKey }, runtime);
  if (connection === null) return { url, rules, keyHeaders: {}, pointer: null };
  const pointer = inlinePointer(new URL(url));
  return { url, rules, keyHeaders: await keyHeadersOf(connection), pointer };
}

/**
 * Returns the time for which the upstream's own links of a connection work, in milliseconds from the end of the job. If
 * the provider documents no time that is the same for all jobs, returns the time for which the relay tries links.
 */
export function linkLifeMs(name: string | null, runtime: Runtime): number {
  return documentedLinkLifeMs(name, runtime) ?? USUAL_LINK_LIFE_MS;
}

/**
 * Returns the time for which the upstream's own links of a connection work, in milliseconds from the end of the job.
 * Null when the provider documents no such time, or states it for each job.
 */
export function documentedLinkLifeMs(name: string | null, { config }: Runtime): number | null {
  const provider = config.connections.get(name ?? "")?.provider;
  const life = provider === undefined || provider.polls === null ? null : provider.linkLife;
  return life === null || life === "stated" ? null : (life.maxMs ?? life.minMs);
}
