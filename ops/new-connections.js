// Sends each request on a new connection, on plain workerd: without it, workerd reuses a connection that was idle for
// up to five seconds, which the peer may be closing at this moment, and the request is lost. ops/workerd.capnp binds
// this Worker as NEW_CONNECTIONS.
import { connect, internalNewHttpClient } from "cloudflare:sockets";

/** The status with which Cloudflare says that it could not reach a host, so that nothing was sent to it. */
const ORIGIN_IS_UNREACHABLE = 523;

export default {
  /** @type {(request: Request) => Promise<Response>} */
  async fetch(request) {
    const socket = await opened(new URL(request.url));
    if (socket === null) return new Response(null, { status: ORIGIN_IS_UNREACHABLE });
    const client = await internalNewHttpClient(socket);
    return client.fetch(request);
  },
};

/** @type {(url: URL) => Promise<Socket | null>} */
async function opened({ protocol, hostname, port }) {
  const [secureTransport, usualPort] = protocol === "https:" ? ["on", "443"] : ["off", "80"];
  const address = `${hostname}:${port || usualPort}`;
  try {
    const socket = connect(address, { secureTransport, allowHalfOpen: false });
    await socket.opened;
    return socket;
  } catch {
    return null;
  }
}
