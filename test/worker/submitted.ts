import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith, type Message } from "./client.ts";
import { restart } from "./objects.ts";
import { anOutside, answering, type Outside, type Sent, type Site } from "./outside.ts";
import { CALLBACK_URL } from "./tasks.ts";

export const ARK = "https://ark.cn-beijing.volces.com/api/v3";
export const ARK_PATH = "/contents/generations/tasks";
export const JOB = "cgt-20261126-abcde";
export const MODEL = "doubao-seedance-2-0-260128";
/** Bindings of a relay with keys for all upstreams to which jobs can be submitted. */
export const BINDINGS = {
  ...env,
  SANDBOX: "true",
  ARK_API_KEY: "test-only-ark-key",
  REPLICATE_API_TOKEN: "test-only-replicate-key",
  FAL_KEY: "test-only-fal-key",
  NEWAPI_API_KEY: "test-only-newapi-key",
  NEWAPI_BASE_URL: "https://gateway.example.org",
  OPENAI_VIDEOS_API_KEY: "test-only-videos-key",
  OPENAI_VIDEOS_BASE_URL: "https://videos.example.org",
};
/** Body of a submission to Ark, with spacing and a number that JavaScript cannot hold. */
export const BODY = `{ "model": "${MODEL}",\n  "content": [{"type": "text", "text": "a fox"}], "seed": 9007199254740993 }`;

/** Replaces the network by an Ark that answers submissions like `site`, and a receiver of callbacks. */
export function anArk(site: Site = answering({ id: JOB })): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(ARK, site);
  return outside;
}

export interface Submission extends Message {
  readonly path?: string;
  readonly bindings?: object;
}

/** Submits a job to Ark, or where `path` says, with a new task id unless the headers name one or a key. */
export async function submit(submission: Submission = {}): Promise<Response> {
  const { path = `/v1/submit/ark${ARK_PATH}`, bindings = BINDINGS, ...message } = submission;
  const headers = { "Content-Type": "application/json", ...message.headers };
  const id = new Headers(headers).get("Relay-Task-Id");
  if (id !== null) await restart(id, bindings);
  return callWith(bindings, path, { body: BODY, ...message, headers });
}

/** Returns headers that name a new task, so that the test can look at its object. */
export function named(more: Readonly<Record<string, string>> = {}) {
  const id = crypto.randomUUID();
  return { id, headers: { "Relay-Task-Id": id, "Relay-Callback-Url": CALLBACK_URL, ...more } };
}

/** Returns the one submission that was sent to Ark. */
export function sentToArk(outside: Outside): Sent {
  const [sent, ...others] = outside.sentTo(`${ARK}${ARK_PATH}`);
  if (sent === undefined || others.length > 0) throw new Error(`${others.length + 1} submissions`);
  return sent;
}

const Seen = z.looseObject({
  id: z.string(),
  status: z.string(),
  submission: z.looseObject({ state: z.string() }).optional(),
});

/** Reads a task as the operator. */
export async function readSubmitted(id: string, bindings: object = BINDINGS) {
  return Seen.parse(await (await callWith(bindings, `/v1/tasks/${id}`)).json());
}
