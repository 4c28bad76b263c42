import type { Runtime } from "../../config/runtime.ts";
import { isJobLink, type JobCallAdapter } from "../../providers/job-calls.ts";
import { type Connection, membersOf } from "../../providers/provider.ts";
import { NO_ORIGIN } from "../http/link-origin.ts";
import { editBody, scanBody } from "../submit/json-body.ts";

/**
 * Returns the base URL under which calls to a connection go through the relay.
 * @param origin origin to which the request was sent.
 * @returns null when the relay does not know its own address.
 */
export function submitBaseOf(
  { name }: Connection,
  { config: { publicUrl } }: Runtime,
  origin: string,
): string | null {
  const base = publicUrl ?? origin;
  return base === NO_ORIGIN ? null : `${base}/v1/submit/${name}`;
}

/**
 * Returns the body of an upstream's response in which links for calls about jobs lead to the relay instead, so that an
 * SDK that follows them does not send the relay's key to the upstream. All other bytes stay the same.
 * @param submitBase base URL of calls through the relay; null when it is not known, so that the body stays unchanged.
 */
export function withRelayLinks(
  bytes: Uint8Array<ArrayBuffer>,
  connection: Connection,
  submitBase: string | null,
): Uint8Array<ArrayBuffer> {
  const { provider } = connection;
  if (provider.polls === null || submitBase === null) return bytes;
  const { baseUrls, jobCalls: adapter } = provider;
  if (adapter?.links === undefined) return bytes;
  const scanned = scanBody(bytes, adapter.links);
  if (!scanned.ok) return bytes;
  const own = membersOf(connection).map(({ baseUrl }) => baseUrl);
  const links = new Map(
    [...scanned.value.members].flatMap(([pointer, found]) => {
      const link = found.kind === "scalar" ? found.value : null;
      const target = targetOf(link, adapter, own, baseUrls ?? []);
      if (target === null) return [];
      // A link that is a path stays one, because its reader puts the host before it.
      const base = isPath(link) ? new URL(submitBase).pathname : submitBase;
      return [[pointer, `${base}${target}`]];
    }),
  );
  const edited = editBody(bytes, scanned.value, links);
  return links.size > 0 && edited.ok ? joined(edited.value) : bytes;
}

/**
 * Returns the path and query, relative to the base URL, of a link that leads to a call about a job.
 * @param own base URL of the connection, or of each member of a pool.
 * @param others further base URLs of the upstream.
 * @returns null when the link leads to anything else, e.g. to another host.
 */
function targetOf(
  link: unknown,
  adapter: JobCallAdapter,
  own: readonly string[],
  others: readonly string[],
): string | null {
  const url = typeof link === "string" ? URL.parse(link, isPath(link) ? own[0] : undefined) : null;
  if (url === null || !isOfUpstream(url, adapter, [...own, ...others])) return null;
  const prefixes = own.map((base) => new URL(base).pathname);
  const prefix = prefixes.find((each) => url.pathname.startsWith(`${each}/`)) ?? "";
  const path = url.pathname.slice(prefix.length);
  return isJobLink(adapter, path, url.search.slice(1)) ? `${path}${url.search}` : null;
}

/** Tells whether a link leads to the upstream's own API. */
function isOfUpstream(
  { origin, username, password }: URL,
  { linkHosts }: JobCallAdapter,
  bases: readonly string[],
): boolean {
  const isKnown = bases.some((base) => new URL(base).origin === origin);
  return username + password === "" && (isKnown || linkHosts?.test(origin) === true);
}

function isPath(link: unknown): boolean {
  return typeof link === "string" && /^\/(?!\/)/.test(link);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
