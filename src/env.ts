import type { RateLimitName } from "./config/rate-limits.ts";
import type { ObjectBindings } from "./task-object/object-platform.ts";
import type { TaskBindings } from "./task-object/task-stub.ts";

type RateLimits = { readonly [Name in RateLimitName]?: RateLimit };

/**
 * Bindings that `wrangler.toml` declares (objects, databases, queue, rate limits). Variables and secrets are in the same
 * environment and are parsed by `config/config.ts`.
 */
export interface Env extends ObjectBindings, TaskBindings, RateLimits {
  readonly VERSION?: WorkerVersionMetadata;
}
