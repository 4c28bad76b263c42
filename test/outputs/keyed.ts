import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith } from "../worker/client.ts";
import { hooked } from "../worker/hooked.ts";
import { untilIdle } from "../worker/objects.ts";
import { anOutside, type Outside, type Site } from "../worker/outside.ts";
import { answerFrom, isolateOf } from "../worker/started.ts";
import { pathOfLink, received } from "./copied.ts";
import { aLinkRequest } from "./linked.ts";

export const GATEWAY = "https://videos.example.org";
/** Link that opens only with the key of the gateway. */
export const KEYED = `${GATEWAY}/v1/videos/video_1/content`;
export const KEY = "test-only-videos-key";

const CONNECTION = { OPENAI_VIDEOS_API_KEY: KEY, OPENAI_VIDEOS_BASE_URL: GATEWAY };
/** Bindings of a relay that keeps outputs, with a gateway. */
export const WITH_BUCKET = { ...env, ...CONNECTION };
/** Bindings of a relay without a bucket, with a gateway. */
export const WITHOUT_BUCKET = { ...env, ...CONNECTION, OUTPUTS: undefined };

/** A task whose only output opens only with the key of a gateway, and the path of the relay's link to it. */
export interface KeyedTask {
  readonly id: string;
  readonly link: string;
  readonly upstream: Outside;
}

const Read = z.looseObject({ output: z.object({ urls: z.tuple([z.string()]) }) });

/** Completes a task whose only output is at a gateway that answers so. */
export async function aKeyedTask(
  site: Site,
  bindings: object = WITHOUT_BUCKET,
  url = KEYED,
): Promise<KeyedTask> {
  const upstream = anOutside();
  upstream.on("https://client.example.net/", () => new Response());
  upstream.on(GATEWAY, received(site));
  const { id } = await hooked({ provider: "openai-videos", bindings });
  const body = { id, status: "completed", output: { urls: [url] } };
  const { status } = await callWith(bindings, "/v1/events", { body });
  if (status !== 202) throw new Error(`the result was answered with ${status}`);
  await untilIdle(id);
  return { id, link: await keyedLinkOf(id, bindings), upstream };
}

/** Returns the path of the link to the only output of a task. */
async function keyedLinkOf(id: string, bindings: object): Promise<string> {
  const task = await (await callWith(bindings, `/v1/tasks/${id}`)).json();
  return pathOfLink(Read.parse(task).output.urls[0]);
}

/** Opens a link whose answer may break off or never end, and which is therefore not compared with its description. */
export async function openRaw(link: string, bindings: object = WITHOUT_BUCKET): Promise<Response> {
  return answerFrom(await isolateOf(bindings), aLinkRequest(link));
}
