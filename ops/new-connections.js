// Sends each request on a new connection, on plain workerd: without it, workerd reuses a connection that was idle for
// up to five seconds, which the peer may be closing at this moment, and the request is lost. ops/workerd.capnp binds
// this Worker as NEW_CONNECTIONS.
import { connect, internalNewHttpClient } from "cloudflare:sockets";

/** The longest search for the reason why a connection could not be opened, in milliseconds. */
const SEARCH_MS = 2000;
/** The host of a URL that is an IP address, so that no name is looked up. */
const IP_ADDRESS = /^(?:[\d.]+|\[.*\])$/;

/**
 * An answer in place of a host that could not be reached, so that nothing was sent to it. Cloudflare answers so for the
 * same reason, with its error code in the body: the relay reads the reason from both.
 * @type {Readonly<Record<"refused" | "tls" | "dns" | "forbidden" | "other", readonly [status: number, code: number | null]>>}
 */
const UNREACHABLE = {
  refused: [521, null],
  tls: [525, null],
  dns: [530, 1016],
  forbidden: [530, 1003],
  other: [523, null],
};

export default {
  /** @type {(request: Request) => Promise<Response>} */
  async fetch(request) {
    const url = new URL(request.url);
    const socket = await opened(url, url.protocol === "https:");
    if (socket === null) return unreachable(await foundCause(url));
    const client = await internalNewHttpClient(socket);
    return client.fetch(request);
  },
};

/** @type {(cause: keyof typeof UNREACHABLE) => Response} */
function unreachable(cause) {
  const [status, code] = UNREACHABLE[cause];
  return new Response(code === null ? null : `error code: ${code}`, { status });
}

/** @type {(url: URL, isSecure: boolean) => Promise<Socket | null>} */
async function opened({ protocol, hostname, port }, isSecure) {
  const usualPort = protocol === "https:" ? "443" : "80";
  const address = `${hostname}:${port || usualPort}`;
  try {
    const secureTransport = isSecure ? "on" : "off";
    const socket = connect(address, { secureTransport, allowHalfOpen: false });
    await socket.opened;
    return socket;
  } catch {
    return null;
  }
}

/** @type {(url: URL) => Promise<keyof typeof UNREACHABLE>} */
async function foundCause(url) {
  const search = new AbortController();
  const timer = setTimeout(() => search.abort(), SEARCH_MS);
  /** @type {Promise<"other">} */
  const late = new Promise((resolve) => {
    search.signal.addEventListener("abort", () => resolve("other"));
  });
  try {
    return await Promise.race([causeOf(url, search.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns why no connection to the host of a URL could be opened. workerd (seen in its release 2026-11-17) throws the
 * same error for each reason when it opens a socket, and writes the reason only to its own log. But it opens a plain
 * connection where only TLS fails, and a request of its own fails with "Network connection lost." where a connection
 * was refused, and with "internal error; …" where a name has no address or the address is one that `allow` forbids.
 * @type {(url: URL, signal: AbortSignal) => Promise<keyof typeof UNREACHABLE>}
 */
async function causeOf(url, signal) {
  const plain = url.protocol === "https:" ? await opened(url, false) : null;
  if (plain !== null) {
    await plain.close();
    return "tls";
  }
  try {
    const { hostname, port, protocol } = url;
    const usualPort = protocol === "https:" ? "443" : "80";
    const target = `http://${hostname}:${port || usualPort}/`;
    await fetch(target, { method: "HEAD", redirect: "manual", signal });
    return "other";
  } catch (error) {
    const text = error instanceof Error ? error.message : "";
    if (text.startsWith("Network connection lost")) return "refused";
    if (!text.startsWith("internal error")) return "other";
    return IP_ADDRESS.test(url.hostname) ? "forbidden" : "dns";
  }
}
