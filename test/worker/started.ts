import { waitUntil } from "cloudflare:workers";
import { answerRequest } from "../../src/app.ts";
import { withStartup, type WithStartup } from "../../src/config/runtime.ts";

/** Returns these bindings as an isolate has them that has started with them. */
export function started<Bindings extends object>(
  bindings: Bindings,
): Promise<Bindings & WithStartup> {
  return withStartup(bindings, Cloudflare.compatibilityFlags, waitUntil);
}

/** Passes a request to the application of an isolate, which may lack bindings that the request does not need. */
export async function answerFrom(isolate: object, request: Request): Promise<Response> {
  const answer: unknown = await Reflect.apply(answerRequest, null, [request, isolate]);
  if (answer instanceof Response) return answer;
  throw new Error("the relay did not answer");
}
