import { waitUntil } from "cloudflare:workers";
import { answerRequest } from "../../src/app.ts";
import * as z from "zod";
import { sendCallback, type SenderEnv } from "../../src/objects/task/sender.ts";
import type { SenderBinding } from "../../src/objects/task/sender-binding.ts";
import { withStartup, type WithStartup } from "../../src/config/runtime.ts";
import { OBJECT_INDEX } from "./object-index.ts";

/** An environment of the sender, which may lack bindings that a test does not need. */
const AnyEnv = z.custom<SenderEnv>();

/**
 * Returns these bindings as an isolate has them that has started with them. Its objects call a sender of the same isolate,
 * unless the bindings have one.
 */
export async function started<Bindings extends object>(
  bindings: Bindings,
): Promise<Bindings & WithStartup & SenderBinding> {
  const isolate = await withStartup(
    withOneIndex(bindings),
    Cloudflare.compatibilityFlags,
    waitUntil,
  );
  const SENDER: SenderBinding["SENDER"] = {
    sendCallback: (delivery) => sendCallback(delivery, AnyEnv.parse(own)),
  };
  const own = { SENDER, ...isolate };
  return own;
}

/**
 * Removes `INDEX_OBJECT` from bindings that name a database of the index as well: the test replaces the index of its
 * project. The first database is then the object, unless the test names another one or none.
 */
function withOneIndex<Bindings extends object>(bindings: Bindings): Bindings {
  const replacesIndex = Object.keys(bindings).some((name) => name.startsWith("INDEX_DB"));
  if (OBJECT_INDEX === null || !replacesIndex) return bindings;
  return { INDEX_DB: OBJECT_INDEX, ...bindings, INDEX_OBJECT: undefined };
}

/** Passes a request to the application of an isolate, which may lack bindings that the request does not need. */
export async function answerFrom(isolate: object, request: Request): Promise<Response> {
  const answer: unknown = await Reflect.apply(answerRequest, null, [request, isolate]);
  if (answer instanceof Response) return answer;
  throw new Error("the relay did not answer");
}
