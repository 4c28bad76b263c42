import type { Connection } from "./provider.ts";

/**
 * Tells whether a link is on the own origin of a connection and opens only with its key. The key is sent to no other origin.
 * @param connection undefined for a task whose results are reported, or whose connection does not exist any more.
 */
export function needsKeyOf(link: URL, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.provider.polls === null) return false;
  const isOwn = link.origin === URL.parse(connection.baseUrl)?.origin;
  return isOwn && connection.provider.needsKey?.(link) === true;
}
