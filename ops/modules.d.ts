/** Modules that ops/workerd.capnp places beside files.js. */

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
