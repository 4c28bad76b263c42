import { waitUntil } from "cloudflare:workers";
import { withStartup, type WithStartup } from "../../src/config/runtime.ts";

const isolates = new WeakMap<object, WithStartup>();

/** Returns these bindings as an isolate has them that has started with them. */
export function started<Bindings extends object>(
  bindings: Bindings,
): Promise<Bindings & WithStartup> {
  return withStartup(bindings, Cloudflare.compatibilityFlags, waitUntil);
}

/** Does the same as `started`, once for each object: its calls go to one isolate. */
export async function isolateOf(bindings: object): Promise<WithStartup> {
  const known = isolates.get(bindings);
  if (known !== undefined) return known;
  const isolate = await started(bindings);
  // Another call may have started it meanwhile.
  const first = isolates.get(bindings) ?? isolate;
  isolates.set(bindings, first);
  return first;
}
