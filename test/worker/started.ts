import { runInDurableObject } from "cloudflare:test";
import { env, waitUntil } from "cloudflare:workers";
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
  const hasCalls = Reflect.get(bindings, "CALLS") === env.CALLS;
  const isolate = await started(hasCalls ? { ...bindings, CALLS: callsWith(bindings) } : bindings);
  // Another call may have started it meanwhile.
  const first = isolates.get(bindings) ?? isolate;
  isolates.set(bindings, first);
  return first;
}

const passing: DurableObjectId[] = [];

/** Returns the object of the last call whose answer was passed on. */
export function lastPassing() {
  const id = passing.at(-1);
  if (id === undefined) throw new Error("no call was passed on");
  return env.CALLS.get(id);
}

/** Returns the objects of calls. Those without a name, which pass answers on, have these bindings. */
function callsWith(bindings: object) {
  const get = (id: DurableObjectId) => {
    const stub = env.CALLS.get(id);
    const passOn = async (...call: Parameters<typeof stub.passOn>) => {
      const value = await started(bindings);
      await runInDurableObject(stub, (instance) => {
        Object.defineProperty(instance, "env", { value });
      });
      return stub.passOn(...call);
    };
    return { passOn, isPassing: () => stub.isPassing() };
  };
  return {
    newUniqueId: () => {
      const id = env.CALLS.newUniqueId();
      passing.push(id);
      return id;
    },
    getByName: (name: string) => env.CALLS.getByName(name),
    get,
  };
}

/** Passes a request to the application of an isolate, which may lack bindings that the request does not need. */
export async function answerFrom(isolate: object, request: Request): Promise<Response> {
  const answer: unknown = await Reflect.apply(answerRequest, null, [request, isolate]);
  if (answer instanceof Response) return answer;
  throw new Error("the relay did not answer");
}
