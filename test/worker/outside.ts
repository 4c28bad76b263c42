import { vi } from "vitest";

/** A request that left the relay. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly redirect: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly cf: unknown;
}

/** Server outside of the relay. @param signal aborts when the relay stops waiting for the answer. */
export type Site = (sent: Sent, signal: AbortSignal) => Response | Promise<Response>;

/** Network outside of the relay: the servers by URL prefix, and the requests that were sent to them. */
export interface Outside {
  /** Sets the server for a URL prefix. Of several servers for a URL, the one that was set last answers. */
  readonly on: (prefix: string, site: Site) => void;
  readonly sentTo: (prefix: string) => readonly Sent[];
}

/** Replaces the network by one server. @returns the list of requests to it, to which later ones are added. */
export function intercept(site: Site): readonly Sent[] {
  const all: Sent[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    const bytes = new Uint8Array(await request.arrayBuffer());
    const sent: Sent = {
      method: request.method,
      url: request.url,
      redirect: init?.redirect,
      headers: Object.fromEntries(request.headers),
      body: new TextDecoder().decode(bytes),
      bytes,
      cf: init?.cf,
    };
    all.push(sent);
    return site(sent, init?.signal ?? request.signal);
  });
  return all;
}

/**
 * Replaces the network by these servers; a request that no server matches fails as for a host that does not
 * exist.
 */
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
