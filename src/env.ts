import type { RateLimitName } from "./config/rate-limits.ts";
import type { WithStartup } from "./config/runtime.ts";
import type { ObjectBindings } from "./objects/task/object-platform.ts";
import type { TaskBindings } from "./objects/task/task-stub.ts";

type RateLimits = { readonly [Name in RateLimitName]?: RateLimit };

/**
 * Bindings that `wrangler.toml` declares (objects, databases, queue, rate limits), and what was read from the
 * variables and secrets when the isolate started (`startup`), which is all that requests know of them.
 */
export interface Env extends ObjectBindings, TaskBindings, RateLimits {}

/** Environment as the platform passes it. */
interface PlatformEnv extends Omit<Env, keyof WithStartup> {
  readonly VERSION?: WorkerVersionMetadata;
}

declare global {
  namespace Cloudflare {
    // The type of `env` in cloudflare:workers.
    interface Env extends PlatformEnv {}
  }
}
