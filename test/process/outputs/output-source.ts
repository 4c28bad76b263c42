import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { LoopbackServer } from "../harness/loopback.ts";

/** Behaviour of the source at the first request for a file; the second one gets it whole. */
export type FirstAnswer = "whole" | "cut off" | "unavailable";

/** A file that the source has. */
export interface SourceFile {
  readonly bytes: Uint8Array;
  /** False for a file whose length the source does not state. */
  readonly isLengthStated: boolean;
  readonly firstAnswer: FirstAnswer;
  /** True for a file whose bytes are sent again and again, until the reader goes away. */
  readonly isEndless?: boolean;
}

/** Begin of every file: that of an MP4 video (ISO/IEC 14496-12 §4.3). */
const MP4_START = Buffer.from("000000186674797069736f6d0000020069736f6d69736f32", "hex");
const CHUNK_BYTES = 1024 * 1024;
/** Pause in milliseconds between two chunks, so that a kill may come between them. */
const CHUNK_PAUSE_MS = 40;
/** Share of a file that is sent where the first answer is cut off. */
const CUT_OFF_AT = 0.9;

/** Returns bytes of a video, which no other name has. */
export function videoBytes(name: string, length: number): Uint8Array {
  const pattern = createHash("sha256").update(name).digest();
  return Buffer.concat([MP4_START, Buffer.alloc(length - MP4_START.length, pattern)]);
}

/** A server of an upstream on loopback, from which generated files are downloaded until their links die. */
export class OutputSource extends LoopbackServer {
  /** True when all links have died. */
  isDead = false;
  /** Number of requests for files that exist. */
  requests = 0;
  readonly #files = new Map<string, SourceFile>();
  readonly #asked = new Set<string>();

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<OutputSource> {
    return new OutputSource().listen();
  }

  /** Serves a file. @returns the link to it. */
  serve(path: string, file: SourceFile): string {
    this.#files.set(path, file);
    return this.origin + path;
  }

  async #handle({ url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay may be killed while it reads.
    response.on("error", () => {});
    const file = this.#files.get(url);
    if (file === undefined || this.isDead) return void response.writeHead(404).end();
    this.requests++;
    const isFirst = !this.#asked.has(url);
    this.#asked.add(url);
    if (isFirst && file.firstAnswer === "unavailable") return void response.writeHead(503).end();
    await send(file, isFirst && file.firstAnswer === "cut off", response);
  }
}

async function send(
  { bytes, isLengthStated, isEndless = false }: SourceFile,
  isCutOff: boolean,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, {
    "Content-Type": "video/mp4",
    ...(isLengthStated && { "Content-Length": bytes.length }),
  });
  const end = isCutOff ? Math.floor(bytes.length * CUT_OFF_AT) : bytes.length;
  const rounds = isEndless ? Infinity : 1;
  for (let round = 0; round < rounds && !response.destroyed; round++) {
    for (let at = 0; at < end && !response.destroyed; at += CHUNK_BYTES) {
      response.write(bytes.subarray(at, Math.min(end, at + CHUNK_BYTES)));
      if (end > CHUNK_BYTES) await sleep(CHUNK_PAUSE_MS);
    }
  }
  if (isCutOff) response.destroy();
  else response.end();
}
