/** Modules that ops/workerd.capnp places beside files.js, and what workerd offers besides its published types. */

declare module "_headers" {
  const text: string;
  export default text;
}

declare module "index.js" {
  const relay: {
    fetch(request: Request, env: object, ctx: ExecutionContext): Promise<Response>;
  };
  export default relay;
}

declare module "cloudflare:sockets" {
  /** Returns a client whose requests go through this socket alone. Experimental. */
  export function internalNewHttpClient(socket: Socket): Promise<Fetcher>;
}
