import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { stubOf } from "./support.ts";

/** A new instance of a task's object, as after a deployment with these bindings. */
export async function restart(id: string, bindings: object = env): Promise<void> {
  await evict(id);
  await runInDurableObject(stubOf(id), (instance) => {
    Object.defineProperty(instance, "env", { value: bindings });
  });
}

/** Tears the instance down; what it keeps in memory is gone, its storage is not. */
export async function evict(id: string): Promise<void> {
  // Only a running object can be evicted.
  await runInDurableObject(stubOf(id), () => undefined);
  await evictDurableObject(stubOf(id));
}
