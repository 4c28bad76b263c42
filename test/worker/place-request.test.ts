import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { takePlace } from "../../src/objects/queue/place-request.ts";
import { pass, until, useClock } from "./clock.ts";
import { namespaceWith } from "./lost-calls.ts";
import { started } from "./started.ts";
import { holdTimers } from "./timers.ts";

useClock();

type Methods = Parameters<typeof namespaceWith>[1];

/** Looks for a place in queues whose methods are called so, for a submission that does not wait. */
async function search(connections: readonly string[], methods: Methods) {
  const submissionId = crypto.randomUUID();
  const since = Date.now();
  const order = { submissionId, taskId: submissionId, account: null, via: "pool", attempt: 1 };
  const bindings = await started({ ...env, QUEUES: namespaceWith(env.QUEUES, methods) });
  const found: unknown = await Reflect.apply(takePlace, null, [
    bindings,
    connections,
    { ...order, since },
  ]);
  return found;
}

const names = (count: number) => Array.from({ length: count }, () => crypto.randomUUID());

describe("the search for a place for a submission that does not wait", () => {
  it("goes on with the next queue when one does not answer, and leaves the silent one", async () => {
    const passTime = holdTimers(2_500);
    const [silent = "", next = ""] = names(2);
    let asked = 0;
    let left = 0;
    const found = search([silent, next], {
      ask: (ask) => (++asked === 1 ? new Promise(() => undefined) : ask()),
      leave: (leave) => {
        left++;
        return leave();
      },
    });
    await until(() => asked === 1);
    passTime();
    expect(await found).toEqual({ kind: "granted", connection: next });
    await until(() => left === 1);
  });

  it("ends after five seconds in all", async () => {
    let asked = 0;
    const found = await search(names(5), {
      ask: async () => {
        asked++;
        pass(2_000);
        return { kind: "busy", retryAfterMs: 7_000 };
      },
    });
    expect(found).toEqual({ kind: "busy", retryAfterMs: 7_000 });
    expect(asked).toBe(3);
  });
});
