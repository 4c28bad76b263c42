import { vi } from "vitest";

/** A request that left the relay. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly redirect: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly cf: unknown;
}

/** @param signal aborts when the relay gives up the request. */
export type Site = (sent: Sent, signal: AbortSignal) => Response | Promise<Response>;

/** The network outside of the relay: sites by URL prefix, and the requests that were sent to them. */
export interface Outside {
  /** Puts a site at a URL prefix. The site that was put last answers. */
  readonly on: (prefix: string, site: Site) => void;
  readonly sentTo: (prefix: string) => readonly Sent[];
}

/** Replaces the network by one site; returns the requests to it, including those that follow. */
export function intercept(site: Site): readonly Sent[] {
  const all: Sent[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const sent: Sent = {
      method: request.method,
      url: request.url,
      redirect: init?.redirect,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
      cf: init?.cf,
    };
    all.push(sent);
    return site(sent, init?.signal ?? request.signal);
  });
  return all;
}

/** Replaces the network; a request that matches no site fails like one to a dead host. */
export function anOutside(): Outside {
  const sites = new Map<string, Site>();
  const all = intercept((sent, signal) => {
    const site = [...sites].findLast(([prefix]) => sent.url.startsWith(prefix))?.[1];
    if (site === undefined) throw new Error(`no site for ${sent.url}`);
    return site(sent, signal);
  });
  return {
    on: (prefix, site) => {
      sites.delete(prefix);
      sites.set(prefix, site);
    },
    sentTo: (prefix) => all.filter(({ url }) => url.startsWith(prefix)),
  };
}

export function answering(body: unknown, status = 200, headers: Record<string, string> = {}): Site {
  return () => Response.json(body, { status, headers });
}
