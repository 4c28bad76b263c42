import { SECOND_MS } from "../../core/time.ts";
import { openLinks } from "./gateway-links.ts";
import { at, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { hasPromptParameters } from "./prompt-parameters.ts";
import {
  type HiddenParameters,
  membersAt,
  type SubmitReading,
  submitReadingOf,
  type SubmitTarget,
} from "../submit.ts";
import { amountsAt } from "../usage.ts";

/** Path at which gateways generate images, as OpenAI does. The answer contains the images or their links. */
export const IMAGES_PATH = "/v1/images/generations";

/**
 * Places, in addition to the parameters' own members, from which gateways read parameters of a video: new-api
 * overwrites parameters for its upstream with the members of `metadata`, and channels of Ark pass on the prompt, which
 * may contain parameters.
 */
export const HIDDEN_IN_VIDEOS: HiddenParameters = {
  isHiddenIn: hasPromptParameters,
  pointers: ["/metadata"],
};

/**
 * Target of the call that generates images. An answer in base64 or as a stream has no links, which are all that the
 * relay can keep of a result, so a request that asks for it is not sent.
 */
export const IMAGES_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["size"]),
  answer: "result",
  unreadable: { "/response_format": ["b64_json"], "/stream": [true] },
};

/**
 * Returns the meaning of the answer to a call that generates images. Some models answer in base64 without being asked
 * to. Such an answer is a result without output for the task; the caller gets the images in the answer. It does not
 * count as `unclear`, because the caller would then not get the answer to a call that has cost money.
 */
export function readImages(body: unknown, baseUrl: string): SubmitReading {
  const images = listAt(body, "data");
  const isResult = images.some(
    (image) => textAt(image, "url") !== null || textAt(image, "b64_json") !== null,
  );
  if (!isResult) return { kind: "unclear" };
  const createdAt = numberAt(body, "created") ?? 0;
  const links = images.map((image) => at(image, "url"));
  const observation: Observation = {
    jobId: null,
    state: "completed",
    urls: openLinks(links, baseUrl),
    metadata: { ratio: textAt(body, "size") },
    completedAt: createdAt > 0 ? createdAt * SECOND_MS : null,
    error: null,
    usage: amountsAt(body, "usage"),
  };
  return { kind: "result", job: null, observation };
}

/**
 * Returns the meaning of a gateway's answer to a call that generates a video. An error without the state of a job is
 * about the request, and an id beside it is not that of a job.
 */
export function readVideo(observation: Observation | null): SubmitReading {
  const isError = observation !== null && observation.state === null && observation.error !== null;
  return submitReadingOf(isError ? null : observation);
}

/**
 * Tells whether a gateway says that none of its channels serves the model, which it finds out before it calls an
 * upstream. new-api does so with HTTP 503 (https://github.com/QuantumNous/new-api/blob/main/middleware/distributor.go).
 */
export function hasNoChannel(status: number, body: unknown): boolean {
  return status === 503 && textAt(body, "error", "code") === "model_not_found";
}
