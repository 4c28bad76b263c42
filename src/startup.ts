import { env as platformEnv, exports, waitUntil } from "cloudflare:workers";
import { withStartup } from "./config/runtime.ts";
import { nameVersion } from "./lib/log.ts";
import type { SenderBinding } from "./objects/task/sender-binding.ts";
import { sendChangesThrough } from "./outbound/http.ts";

const SENDER: SenderBinding["SENDER"] = {
  sendCallback: (delivery) => exports.Sender.sendCallback(delivery),
};
const started = await withStartup(platformEnv, Cloudflare.compatibilityFlags, waitUntil);
/**
 * Environment of this Worker. Its configuration is parsed and its keys are imported here, at module scope, because
 * the platform bills no CPU time there.
 */
export const env = { ...started, SENDER };

nameVersion(env.startup.version);
sendChangesThrough(platformEnv.NEW_CONNECTIONS ?? null);
