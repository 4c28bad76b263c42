import { env as platformEnv, exports, waitUntil } from "cloudflare:workers";
import { withStartup, type WithStartup } from "./config/runtime.ts";
import { nameVersion } from "./lib/log.ts";
import { S3Store } from "./objects/output/s3-store.ts";
import type { SenderBinding } from "./objects/task/sender-binding.ts";
import { sendChangesThrough, storeFetch } from "./outbound/http.ts";

const SENDER: SenderBinding["SENDER"] = {
  sendCallback: (delivery) => exports.Sender.sendCallback(delivery),
};
/** Returns the store of outputs in place of the bucket of the platform, where `OUTPUTS_S3_URL` is set. */
function s3StoreOf({ startup: { runtime } }: WithStartup): { readonly OUTPUTS?: S3Store } {
  const s3 = runtime.ok ? runtime.value.config.s3 : null;
  if (s3 === null) return {};
  return { OUTPUTS: new S3Store(s3, storeFetch(platformEnv.OUTPUTS_S3 ?? null)) };
}

const started = await withStartup(platformEnv, Cloudflare.compatibilityFlags, waitUntil);
/**
 * Environment of this Worker. Its configuration is parsed and its keys are imported here, at module scope, because
 * the platform bills no CPU time there.
 */
export const env = { ...started, ...s3StoreOf(started), SENDER };

nameVersion(env.startup.version);
sendChangesThrough(platformEnv.NEW_CONNECTIONS ?? null);
