import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { WithStartup } from "../../src/config/runtime.ts";
import { started } from "./started.ts";

const isolates = new WeakMap<object, WithStartup>();

/** Returns what `started` returns, once for each object: its calls go to one isolate. */
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

/** How the answer to the next call that is passed on gets lost. Null when it does not. */
let losing: (() => Promise<never>) | null = null;

/** Lets the answer to the next call that is passed on get lost, while its object goes on. */
export function loseNextPassing(lose: () => Promise<never>): void {
  losing = lose;
}

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
      const lose = losing;
      losing = null;
      if (lose === null) return stub.passOn(...call);
      void stub.passOn(...call);
      return await lose();
    };
    return { passOn, stopWaiting: () => stub.stopWaiting() };
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
