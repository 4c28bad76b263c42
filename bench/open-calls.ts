import { randomUUID } from "node:crypto";
import pMap from "p-map";
import { formOf } from "../test/process/calls/form.ts";
import { Gateway } from "../test/process/calls/gateway.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../test/process/harness/client.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { MemoryLog } from "./load-memory.ts";
import { isolateMemory } from "./profile/inspector.ts";

const EDITS = "/v1/images/edits";
const VARS = { ...LOCAL_VARS, PUBLIC_URL: "https://relay.example.com" };
/** Size of the form of each call. */
export const FORM_BYTES = 1024 * 1024;
const SENT_AT_ONCE = 8;
const ANSWER = JSON.stringify({ data: [{ b64_json: "iVBORw0KGgoAAAANSUhEUg==" }] });
const LOOK_EVERY_MS = 100;

/** Memory of a relay while so many calls are open whose clients do not wait. */
export interface OpenCalls {
  readonly calls: number;
  /** Memory of the isolate without garbage, and of the process, in bytes. */
  readonly isolateBytes: number;
  readonly rssBytes: number;
}

/**
 * Opens ever more calls through one relay, all in one isolate, whose upstream answers none before all are open.
 * @returns the memory at each of these numbers of open calls, and at last after the answers.
 */
export async function memoryByCalls(counts: readonly number[]): Promise<readonly OpenCalls[]> {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await using gateway = await Gateway.start((_, response) => {
    void answered.then(() => response.setHeader("Content-Type", "application/json").end(ANSWER));
  });
  const vars = { ...VARS, ...gateway.vars };
  const parts = { hasOutputs: true, hasIndex: false, hasInspector: true };
  await using relay = await Workerd.start({ vars, ...parts });
  using memory = new MemoryLog(relay.pid ?? 0, () => gateway.calls.length);
  const measured = async (calls: number): Promise<OpenCalls> => {
    const isolateBytes = await isolateMemory(relay.inspectorPort, "relay", () =>
      relay.client.ask("GET", "/healthz"),
    );
    return { calls, isolateBytes, rssBytes: memory.sample().rssBytes };
  };
  const results: OpenCalls[] = [];
  const ids: string[] = [];
  for (const count of counts) {
    const more = Array.from({ length: count - ids.length }, () => randomUUID());
    await pMap(more, (id) => open(relay, id), { concurrency: SENT_AT_ONCE });
    ids.push(...more);
    await until(() => gateway.calls.length === count);
    results.push(await measured(count));
  }
  answer();
  await pMap(ids, (id) => ended(relay, id), { concurrency: SENT_AT_ONCE });
  return [...results, await measured(0)];
}

/** Returns the memory of the isolate in bytes that each call takes which is open at the largest number of them. */
export function bytesPerCall(measured: readonly OpenCalls[]): number {
  const [none] = measured;
  const most = measured.at(-2);
  if (none === undefined || most === undefined) throw new Error("nothing was measured");
  return (most.isolateBytes - none.isolateBytes) / (most.calls - none.calls);
}

/** Submits a call with a form, whose client does not wait. */
async function open({ url }: Workerd, id: string): Promise<void> {
  const { body, type } = formOf({ model: "gpt-image-1", prompt: "a fox" }, FORM_BYTES);
  const response = await fetch(`${url}/v1/submit/newapi${EDITS}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${OPERATOR_KEY}`,
      "Content-Type": type,
      Prefer: "respond-async",
      "Relay-Task-Id": id,
    },
    body,
  });
  const text = await response.text();
  if (response.status !== 202) throw new Error(text);
}

/** Waits until a task has completed. */
async function ended({ client }: Workerd, id: string): Promise<void> {
  let status = "pending";
  await until(async () => {
    ({ status } = await client.read(id));
    return status !== "pending";
  });
  if (status !== "completed") throw new Error(`a task has ${status}`);
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
}
