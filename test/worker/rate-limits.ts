import { callWith, type Message } from "./client.ts";

/** Value that `refusal` has for a request over a rate limit. */
export const LIMITED = { status: 429, code: "rate_limited" };

/** Returns a rate limit that permits the first `limit` requests of each key, and never forgets them. */
export function aRateLimit(limit: number): RateLimit {
  const counts = new Map<string, number>();
  return {
    limit: async ({ key }) => {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return { success: count <= limit };
    },
  };
}

/** A request with its path, for `sendFrom`. */
export interface Sent extends Message {
  readonly path: string;
}

/** Sends a request with this IP address as the sender's; null sends none. */
export async function sendFrom(
  address: string | null,
  bindings: object,
  { path, ...message }: Sent,
) {
  const from = address === null ? {} : { "CF-Connecting-IP": address };
  return callWith(bindings, path, { ...message, headers: { ...message.headers, ...from } });
}
