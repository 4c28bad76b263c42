/** The base class of objects, as far as the simulated platform needs it. */
export class DurableObject<Env> {
  readonly ctx: unknown;
  readonly env: Env;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}
