import { sourceUrlRulesOf } from "../../config/callback-url-rules.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { CopyOrder } from "../../core/duties/copy-order.ts";
import { DAY_MS } from "../../core/time.ts";
import type { Source } from "../../outbound/open-source.ts";
import { connectionOf } from "../../outbound/upstream-connection.ts";
import { needsKeyOf } from "../../providers/keyed-link.ts";
import type { Connection } from "../../providers/provider.ts";

/** Time for which the links of a provider that documents no time are tried, in milliseconds. */
const USUAL_LINK_LIFE_MS = DAY_MS;

/** The part of an order that says where an output is fetched, and with which key. */
type Origin = Pick<CopyOrder, "taskId" | "origin" | "connection" | "customerKey">;

/**
 * Returns the source of an output. It has the key of the connection, or that of the customer, only if the link is on the
 * connection's own origin and opens only with a key.
 */
export async function sourceOf(
  { taskId, origin, connection: name, customerKey }: Origin,
  url: string,
  runtime: Runtime,
): Promise<Source> {
  const rules = sourceUrlRulesOf(runtime.config, origin);
  const known = runtime.config.connections.get(name ?? "");
  const link = URL.parse(url);
  const isKeyed = known !== undefined && link !== null && needsKeyOf(link, known);
  const owner = isKeyed ? { taskId, connection: known.name, customerKey } : null;
  const keyed = owner === null ? null : await connectionOf(owner, runtime);
  return { url, rules, keyHeaders: keyed === null ? {} : await keyHeadersOf(keyed) };
}

async function keyHeadersOf({ provider, key }: Connection) {
  if (provider.polls === null || key === null) return {};
  return provider.polls.headers(key, Date.now());
}

/** Returns the time for which the upstream's own links of a connection work, in milliseconds from the end of the job. */
export function linkLifeMs(name: string | null, { config }: Runtime): number {
  const provider = config.connections.get(name ?? "")?.provider;
  const life = provider === undefined || provider.polls === null ? null : provider.linkLife;
  if (life === null || life === "stated") return USUAL_LINK_LIFE_MS;
  return life.maxMs ?? life.minMs;
}
