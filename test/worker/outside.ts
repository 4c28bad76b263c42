import { vi } from "vitest";

/** A request that left the relay. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly redirect: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** @param signal aborts when the relay gives up the request. */
export type Site = (sent: Sent, signal: AbortSignal) => Response | Promise<Response>;

/** Everything that the relay reaches: sites by the beginning of their URLs, and what was sent to them. */
export interface Outside {
  /** The latest site of a beginning answers; others stay. */
  readonly on: (beginning: string, site: Site) => void;
  readonly sentTo: (beginning: string) => readonly Sent[];
}

/** Stands where the network is; what no site answers is refused like a host that is down. */
export function anOutside(): Outside {
  const sites = new Map<string, Site>();
  const all: Sent[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const sent: Sent = {
      method: request.method,
      url: request.url,
      redirect: init?.redirect,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    };
    all.push(sent);
    const site = [...sites].findLast(([beginning]) => sent.url.startsWith(beginning))?.[1];
    if (site === undefined) throw new Error(`nobody is at ${sent.url}`);
    return site(sent, init?.signal ?? request.signal);
  });
  return {
    on: (beginning, site) => {
      sites.delete(beginning);
      sites.set(beginning, site);
    },
    sentTo: (beginning) => all.filter(({ url }) => url.startsWith(beginning)),
  };
}

export function answering(body: unknown, status = 200, headers: Record<string, string> = {}): Site {
  return () => Response.json(body, { status, headers });
}
