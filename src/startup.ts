import { env as platformEnv, waitUntil } from "cloudflare:workers";
import { withStartup } from "./config/runtime.ts";
import { nameVersion } from "./lib/log.ts";
import { sendChangesThrough } from "./outbound/http.ts";

/**
 * Environment of this Worker. Its configuration is parsed and its keys are imported here, at module scope, because
 * the platform bills no CPU time there.
 */
export const env = await withStartup(platformEnv, Cloudflare.compatibilityFlags, waitUntil);

nameVersion(env.startup.version);
sendChangesThrough(platformEnv.NEW_CONNECTIONS ?? null);
