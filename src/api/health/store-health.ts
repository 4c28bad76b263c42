import type { Config } from "../../config/config.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { S3Store } from "../../objects/output/s3-store.ts";

/** Time in milliseconds for which the state of the store is kept in memory. Monitors may ask for it every few seconds. */
const KEEP_MS = 30 * SECOND_MS;
const STORE_TIMEOUT_MS = 5 * SECOND_MS;
const LATE = "the store of outputs has not answered in time";

/** Fault of the store as it was last found. It is shared by all callers, because only operators may ask for it. */
const recent = new EnvCache<string | null>(() => KEEP_MS);

/**
 * Returns, for `/healthz`, what is wrong with the S3-compatible store of outputs or its settings. It is up to 30 seconds
 * old, and costs one read of the store.
 * @returns null when the relay has no such store.
 */
export async function storeStateOf({ s3 }: Config, env: Env) {
  const { OUTPUTS: store } = env;
  if (s3 === null || !(store instanceof S3Store)) return null;
  const read = () => withTimeout("store", () => store.fault(), LATE, STORE_TIMEOUT_MS);
  return { fault: await recent.get(env, read) };
}
