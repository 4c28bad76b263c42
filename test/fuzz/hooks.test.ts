import * as fc from "fast-check";
import { parseJson } from "../../src/core/json.ts";
import type { Observation } from "../../src/providers/observation.ts";
import type { Hook, HookAdapter } from "../../src/providers/provider.ts";
import { ADAPTERS } from "../providers/adapters.ts";
import type { Examples } from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, examplesIn } from "../providers/examples.ts";
import { aHook } from "../providers/hook.ts";
import { changed, fuzz, weighted } from "./fuzz.ts";
import { jsonBytes, jsonChange } from "./mutations.ts";
import { requireSound } from "./news.ts";

const decoder = new TextDecoder();

/** Generates valid hooks with a changed body; the body is undefined when it is not JSON. */
function hooksOf({ provider, hooks }: Examples): fc.Arbitrary<{ json: unknown; hook: Hook }> {
  const path = `/hooks/${provider}/task/token`;
  const cases = examplesIn(hooks).map(({ body, headers }) => {
    const json = changed(fc.constant(parseJson(body)), jsonChange, 3);
    const damaged = jsonBytes(json).map((bytes) => parseJson(decoder.decode(bytes)));
    return fc.record({
      json: weighted([9, json], [1, damaged]),
      hook: fc.constant(aHook(headers ?? {}, body, { path })),
    });
  });
  return fc.oneof(...cases);
}

function understands(adapter: HookAdapter, json: unknown, hook: Hook): boolean {
  const handshake = adapter.preflight?.(json) ?? null;
  if (handshake !== null) requireHandshake(handshake);
  const observation = json === undefined ? null : adapter.read(json, hook);
  return observation !== null && requireSound(observation) !== null;
}

/** Requires that the answer to a handshake is JSON that contains the challenge and nothing else. */
function requireHandshake(answer: string): void {
  const { challenge, ...others }: { challenge?: unknown } = JSON.parse(answer);
  const isEcho = typeof challenge === "string" && Object.keys(others).length === 0;
  if (!isEcho) throw new Error(`the answer to the handshake is ${answer}`);
}

/** Returns an adapter that reads every hook it understands with other members. */
function withObservation(adapter: HookAdapter, changes: Partial<Observation>): HookAdapter {
  return {
    ...adapter,
    read: (json, hook) => {
      const observation = adapter.read(json, hook);
      return observation === null ? null : { ...observation, ...changes };
    },
  };
}

for (const examples of EXAMPLES) {
  const adapter = ADAPTERS.get(examples.provider)?.hooks ?? null;
  if (adapter === null) continue;
  fuzz(
    `reading any hook of ${examples.provider}, even one with altered fields, never throws, and returns either null or a valid state of the job`,
    {
      inputs: hooksOf(examples),
      subject: adapter,
      defects: {
        "throws for a body that it does not know": {
          ...adapter,
          read: (json, hook) => {
            const observation = adapter.read(json, hook);
            if (observation === null) throw new TypeError("planted");
            return observation;
          },
        },
        "reads an empty id of the job": withObservation(adapter, { jobId: "" }),
        "reads a result without links": withObservation(adapter, {
          state: "completed",
          urls: ["ftp://cdn.example.com/a.mp4"],
        }),
        "reads numbers that are none": withObservation(adapter, {
          state: "completed",
          urls: ["https://cdn.example.com/a.mp4"],
          metadata: { seed: NaN },
        }),
      },
      check: ({ json, hook }, subject) => understands(subject, json, hook),
    },
  );
}
