import { waitUntil } from "cloudflare:workers";
import { answerRequest } from "../../src/app.ts";
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

/** Passes a request to the application of an isolate, which may lack bindings that the request does not need. */
export async function answerFrom(isolate: object, request: Request): Promise<Response> {
  const answer: unknown = await Reflect.apply(answerRequest, null, [request, isolate]);
  if (answer instanceof Response) return answer;
  throw new Error("the relay did not answer");
}
