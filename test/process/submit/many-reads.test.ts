import { Agent, get } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { startRelay } from "../harness/relay.ts";
import { ARK_MODEL, ARK_TASKS, FakeArk, PROMPT_CONDUCT } from "./fake-ark.ts";

const READS = 2_000;
const CONNECTIONS = 64;
/** Wait of each connection between two reads in milliseconds, so that all together last several gaps. */
const WAIT_MS = 100;
/** Least time between two requests of the relay about one job of Ark in milliseconds (src/providers/ark/ark.ts). */
const GAP_MS = 1_000;
const PATH = `/v1/submit/ark${ARK_TASKS}`;
/** A job that runs for as long as the test, and whose hooks keep the relay from polling it by itself. */
const CONDUCT = { ...PROMPT_CONDUCT, doneAfterMs: 600_000 };

it("when 64 connections read a job of Ark 2,000 times, the relay asks Ark about the job at most once per second", async () => {
  await using ark = await FakeArk.start(() => CONDUCT);
  await using relay = await startRelay({ vars: { ...LOCAL_VARS, ...ark.vars } });
  const body = { model: ARK_MODEL, content: [{ type: "text", text: "a fox" }] };
  const submitted = await relay.client.send("POST", PATH, body);
  const { id } = z.object({ id: z.string() }).parse(await submitted.json());
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const startedAt = Date.now();
  const read = async () => {
    const answer = await answerOf(`${relay.url}${PATH}/${id}`, agent);
    await sleep(WAIT_MS);
    return answer;
  };
  const answers = await pMap(Array.from({ length: READS }), read, { concurrency: CONNECTIONS });
  const gaps = (Date.now() - startedAt) / GAP_MS;
  agent.destroy();
  expect(new Set(answers)).toEqual(new Set([`200 ${id} running`]));
  expect(ark.reads.length).toBeGreaterThan(1);
  expect(ark.reads.length).toBeLessThanOrEqual(1 + gaps);
});

const Read = z.looseObject({ id: z.string(), status: z.string() });

/** Reads a job. @returns the HTTP status, the id and the state of the job. */
async function answerOf(url: string, agent: Agent): Promise<string> {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get(url, { agent, headers }, async (response) => {
    const { id, status } = Read.parse(JSON.parse(await text(response)));
    resolve(`${response.statusCode} ${id} ${status}`);
  });
  request.on("error", reject);
  return await promise;
}
