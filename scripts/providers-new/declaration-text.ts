import type { NewProvider } from "./names.ts";

/**
 * Returns the declaration of a new upstream to begin with, and when it does not suffice. It is valid as it is, so that it
 * can be pasted, and corrected with `npm run providers:check`.
 */
export function declarationOf({ name, hasHooks }: NewProvider): string {
  const hook = hasHooks ? `\n  "hook": {"field": "webhook_url"},` : "";
  return `Most upstreams need no code. Put this into CONNECTIONS, and correct it by the documents of the upstream:

{"${name}": {
  "provider": "generic",
  "base_url": "https://api.${name}.example",
  "key": "YOUR_KEY",
  "auth": "Authorization: Bearer {key}",
  "submit": {"path": "/jobs", "id": "/id"},${hook}
  "poll": {"path": "/jobs/{id}", "id": "/id", "state": "/status",
           "outputs": ["/output/url", "/output/*"], "error": "/error"}}}

Then look what it makes of a job that has ended, and of one that has failed:

npm run providers:check -- ${name} --job ID

src/providers/generic/README.md has all members, and declarations of RunPod, Runware, RunningHub, Together,
sync.so, ComfyUI and Modal. An adapter is needed where these do not suffice: a poll of two requests, a signature that is
no HMAC, a key that is signed anew for each call, hooks that begin with a handshake. Then:

npm run providers:new -- ${name} --code${hasHooks ? "" : " --no-hooks"}`;
}
