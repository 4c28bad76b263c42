import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod";
import { call } from "../worker/client.ts";
import { START, until } from "../worker/clock.ts";
import { anOutside, type Outside, type Site } from "../worker/outside.ts";
import { finish, register } from "../worker/tasks.ts";

export const SOURCE = "https://cdn.example.net/video.mp4";

/** Bytes of a small MP4, as far as their beginning matters. */
export const VIDEO_BYTES = bytesOf(`\0\0\0\x18ftypisom\0\0\0\0isomavc1${"v".repeat(1_000)}`);

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Returns an answer with these bytes, whose length it states. */
export function sending(
  bytes: Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Site {
  return () =>
    new Response(bytes, { headers: { "Content-Length": String(bytes.length), ...headers } });
}

/** Returns an answer with these pieces, without a stated length. */
export function streaming(...pieces: readonly Uint8Array[]): Site {
  return () => new Response(streamOf(pieces));
}

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = [...pieces];
  return new ReadableStream({
    pull: (controller) => {
      const next = rest.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}

/** Returns the answers of a site as they come over the network, whose bodies are streams of bytes. */
export function received(site: Site): Site {
  return async (sent, signal) => {
    const response = await site(sent, signal);
    const body = response.body?.pipeThrough(new IdentityTransformStream()) ?? null;
    return new Response(body, response);
  };
}

/** Replaces the network by an upstream that answers `SOURCE` so, and a receiver that takes every callback. */
export function anUpstream(site: Site): Outside {
  const { on, sentTo } = anOutside();
  const outside: Outside = { on: (prefix, other) => on(prefix, received(other)), sentTo };
  outside.on("https://client.example.net/", () => new Response());
  outside.on(SOURCE, site);
  return outside;
}

export function bucket(): R2Bucket {
  if (env.OUTPUTS === undefined) throw new Error("no bucket");
  return env.OUTPUTS;
}

/** Returns the object that copies the outputs of a task which was registered at `START`. */
export function copierOf(id: string, recordedAt = START) {
  return env.OUTPUT_OBJECTS.getByName(`${id}:${recordedAt}`);
}

const Copied = z.looseObject({
  output: z.object({ urls: z.array(z.string()) }),
  source_urls: z.array(z.string()),
  outputs: z.array(z.looseObject({ kept: z.boolean(), reason: z.string().optional() })),
});

export async function readCopied(id: string) {
  return Copied.parse(await (await call(`/v1/tasks/${id}`)).json());
}

/** Completes a task with these outputs, and waits until the order to copy them has arrived. Returns its id. */
export async function completedWith(urls: readonly string[], fields: object = {}): Promise<string> {
  const id = await register(fields);
  const result = { id, status: "completed", output: { urls } };
  await finish(result);
  await until(async () => (await storedCopies(id)) !== undefined);
  return id;
}

export function storedCopies(id: string): Promise<unknown> {
  return runInDurableObject(copierOf(id), (_, { storage }) => storage.kv.get("copies"));
}

/** Runs the alarm of the object that copies the outputs of a task. Returns whether one was set. */
export function copy(id: string): Promise<boolean> {
  return runDurableObjectAlarm(copierOf(id));
}

/** Returns the keys of the copies of a task, and their sizes. */
export async function copiesOf(id: string): Promise<readonly (readonly [string, number])[]> {
  const { objects } = await bucket().list({ prefix: `outputs/${id}/` });
  return objects.map(({ key, size }) => [key, size]);
}

export function keyOf(id: string, number = 1): string {
  return `outputs/${id}/${START}/${number}`;
}

/** Returns the path of a link of the relay. */
export function pathOfLink(link: string): string {
  return new URL(link).pathname;
}
