import { parseJson } from "../../src/core/json.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { type GivenAnswer, withOutputOf } from "../../src/providers/inline-output.ts";
import type { Observation } from "../../src/providers/observation.ts";
import { readPollAnswer } from "../../src/providers/poll-answer.ts";
import type { AnswerReader, Reading, UpstreamProvider } from "../../src/providers/provider.ts";
import {
  GATEWAY,
  type HookExample,
  type PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import { aHook } from "./hook.ts";
import { anAnswer } from "./answer.ts";

/** Returns what an adapter reads in an example hook, or in other JSON with the headers of that hook. */
export function readHook(
  { name, hooks }: UpstreamProvider,
  { headers, body }: HookExample,
  json: unknown = parseJson(body),
): Observation | null {
  const hook = aHook(headers ?? {}, body, { path: `/hooks/${name}/task/token` });
  const observation = hooks?.read(json, hook) ?? null;
  return observation === null
    ? null
    : withOutputOf(observation, [{ body: json, url: null }], GATEWAY);
}

/**
 * Returns what an adapter reads in the last answer of an example poll. @throws Error when the adapter makes other requests
 * than the example.
 */
export function readPoll({ polls }: UpstreamProvider, example: PollExample): Reading | null {
  const job: Job = { id: example.jobId, endpoint: example.endpoint ?? null };
  let path = polls.path(job);
  let reader: AnswerReader = polls;
  let reading: Reading | null = null;
  const answers: GivenAnswer[] = [];
  for (const exchange of example.exchanges) {
    if (reading !== null) {
      if (reading.kind !== "next") throw new Error(`the adapter did not request ${exchange.path}`);
      path = reading.path;
      reader = reading;
    }
    if (path !== exchange.path) throw new Error(`the adapter requested ${path}`);
    reading = readPollAnswer(reader, anAnswer(exchange.answer), job, GATEWAY);
    answers.push({ body: exchange.answer.body, url: `${GATEWAY}${path}` });
  }
  if (reading?.kind !== "observed") return reading;
  return { ...reading, observation: withOutputOf(reading.observation, answers, GATEWAY) };
}
