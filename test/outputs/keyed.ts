import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith } from "../worker/client.ts";
import { attach, hooked } from "../worker/hooked.ts";
import { untilIdle, wake } from "../worker/objects.ts";
import { anOutside, answering, type Outside, type Site } from "../worker/outside.ts";
import { isolateOf } from "../worker/isolates.ts";
import { answerFrom } from "../worker/started.ts";
import { pathOfLink, received, VIDEO_BYTES } from "./copied.ts";
import { aLinkRequest } from "./linked.ts";

export const GATEWAY = "https://videos.example.org";
/** Link that opens only with the key of the gateway. */
export const KEYED = `${GATEWAY}/v1/videos/video_1/content`;
export const KEY = "test-only-videos-key";

const CONNECTION = { OPENAI_VIDEOS_API_KEY: KEY, OPENAI_VIDEOS_BASE_URL: GATEWAY };
/** Range with which a poll asks whether a file stands behind a content path. */
const FIRST_BYTE = "bytes=0-0";
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

/** Time after which a job of which no hook came is polled for the first time, in milliseconds. */
export const FIRST_POLL_MS = 150_000;
const Read = z.looseObject({ output: z.object({ urls: z.tuple([z.string()]) }) });

/** A job of a provider, and its server, whose answer to a poll has the result. */
interface FinishedJob {
  readonly provider: string;
  readonly bindings: object;
  readonly jobId: string;
  readonly upstream: Outside;
}

/** Completes a task by a poll of its job. Returns the id of the task, and the path of the link to its only output. */
export async function polledTask({ provider, bindings, jobId, upstream }: FinishedJob) {
  upstream.on("https://client.example.net/", () => new Response());
  const task = await hooked({ provider, bindings });
  const { status } = await attach(task, jobId);
  if (status !== 200) throw new Error(`the attachment was answered with ${status}`);
  await wake(task.id, FIRST_POLL_MS);
  await untilIdle(task.id);
  return { id: task.id, link: await keyedLinkOf(task.id, bindings) };
}

/**
 * Completes a task whose only output is at a gateway that answers so, by a poll of the gateway. The poll has asked for the
 * first byte of the output, which the gateway has sent; `upstream.sentTo` leaves this request out.
 */
export async function aKeyedTask(
  site: Site,
  bindings: object = WITHOUT_BUCKET,
  url = KEYED,
): Promise<KeyedTask> {
  const upstream = anOutside();
  const job = { id: "video_1", object: "video", status: "completed", url };
  upstream.on(`${GATEWAY}/v1/videos/video_1`, answering(job));
  upstream.on(url, () => new Response(VIDEO_BYTES.slice(0, 1), { status: 206 }));
  const task = { provider: "openai-videos", bindings, jobId: "video_1", upstream };
  const polled = await polledTask(task);
  upstream.on(url, received(site));
  const sentTo: Outside["sentTo"] = (prefix) =>
    upstream.sentTo(prefix).filter(({ headers }) => headers["range"] !== FIRST_BYTE);
  return { ...polled, upstream: { ...upstream, sentTo } };
}

/** Returns the path of the link to the only output of a task. */
export async function keyedLinkOf(id: string, bindings: object): Promise<string> {
  const task = await (await callWith(bindings, `/v1/tasks/${id}`)).json();
  return pathOfLink(Read.parse(task).output.urls[0]);
}

/** Opens a link whose answer may break off or never end, and which is therefore not compared with its description. */
export async function openRaw(link: string, bindings: object = WITHOUT_BUCKET): Promise<Response> {
  return answerFrom(await isolateOf(bindings), aLinkRequest(link));
}
