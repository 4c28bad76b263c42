import type { RateLimitName } from "./config/rate-limits.ts";
import type { WithStartup } from "./config/runtime.ts";
import type { OutputStore } from "./objects/output/output-store.ts";
import type { ObjectBindings } from "./objects/task/object-platform.ts";
import type { SenderBinding } from "./objects/task/sender-binding.ts";
import type { TaskBindings } from "./objects/task/task-stub.ts";

type RateLimits = { readonly [Name in RateLimitName]?: RateLimit };

/**
 * Bindings that `wrangler.toml` declares (objects, databases, queue, rate limits), and `startup`: the configuration
 * that was read from the variables and secrets when the isolate started. The handlers of requests see variables and
 * secrets only through `startup`.
 */
export interface Env extends ObjectBindings, TaskBindings, RateLimits {
  /**
   * Files of the folder `public`, which the relay serves to requests of other Workers. For a request from outside, the
   * platform serves these files before the relay runs.
   */
  readonly ASSETS?: Fetcher;
  /** Store of the copies of outputs. Absent when the relay makes no copies. */
  readonly OUTPUTS?: OutputStore;
}

/**
 * Environment as the platform passes it: without `startup` and `SENDER`, which src/startup.ts adds, and with some
 * bindings that only src/startup.ts reads.
 */
interface PlatformEnv extends Omit<Env, keyof WithStartup | keyof SenderBinding | "OUTPUTS"> {
  /** R2 bucket with the copies of outputs. Absent where the relay makes none, or keeps them in another store. */
  readonly OUTPUTS?: R2Bucket;
  /**
   * Service that reaches the store of `OUTPUTS_S3_URL`, also at a private address. Absent on Cloudflare and under
   * `wrangler dev`.
   */
  readonly OUTPUTS_S3?: Fetcher;
  /**
   * The Worker `ops/new-connections.js`, which sends each request on a new connection. Absent on Cloudflare and under
   * `wrangler dev`.
   */
  readonly NEW_CONNECTIONS?: Fetcher;
  /** Metadata of the deployed version. Absent when the platform does not state them. */
  readonly VERSION?: WorkerVersionMetadata;
}

declare global {
  namespace Cloudflare {
    // The type of `env` in cloudflare:workers.
    interface Env extends PlatformEnv {}
  }
}
