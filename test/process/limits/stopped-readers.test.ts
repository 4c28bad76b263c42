import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";
import { videoBytes } from "../outputs/output-source.ts";

/** Longest time in milliseconds for which a client may leave something unread, and what a slow machine may need besides. */
const UNREAD_MS = 60_000;
const PATIENCE = { timeout: UNREAD_MS + 45_000, interval: 200 };
/** Bytes of a long answer: more than the kernel takes for a client that does not read. */
const ANSWER_BYTES = 7_900_000;
const CONTENT = "/v1/videos/video_1/content";
const PIECE = videoBytes("fox", 1024 * 1024);

/** An upstream with one finished video, which has no end, and long answers to calls for pictures. */
class LongUpstream extends LoopbackServer {
  /** Number of readers of the video. */
  readers = 0;

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<LongUpstream> {
    return new LongUpstream().listen();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "" } = request;
    await bodyOf(request);
    if (url === CONTENT) return this.#sendVideo(response);
    const picture = `${this.origin}/fox.png`;
    const note = "x".repeat(ANSWER_BYTES);
    const job = { id: "video_1", object: "video", status: "completed", url: this.origin + CONTENT };
    const answers: Readonly<Record<string, object>> = {
      "/v1/predictions": { id: "p-1", status: "succeeded", output: [picture], logs: note },
      "/v1/images/generations": { data: [{ url: picture, note }] },
    };
    const answer = answers[url] ?? job;
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
  }

  #sendVideo(response: ServerResponse): void {
    this.readers++;
    response.once("close", () => this.readers--);
    const send = () => {
      while (!response.destroyed && response.write(PIECE));
    };
    response.setHeader("Content-Type", "video/mp4").on("drain", send);
    send();
  }
}

const upstream = await forThisFile(LongUpstream.start());
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      PUBLIC_URL: "https://relay.example.com",
      OPENAI_VIDEOS_API_KEY: "process-test-videos-key",
      OPENAI_VIDEOS_BASE_URL: upstream.origin,
      REPLICATE_API_TOKEN: "process-test-replicate-key",
      REPLICATE_BASE_URL: upstream.origin,
      OFFERS: JSON.stringify([{ connection: "replicate", models: ["*"] }]),
    },
  }),
);

/** A client that has read the head of an answer, and nothing after it. */
interface StoppedReader {
  readonly socket: Socket;
  readonly status: string;
}

/** Sends a request, reads the beginning of its answer, and then nothing more. */
async function stopReading(lines: readonly string[], body = ""): Promise<StoppedReader> {
  const socket = connect({ port: Number(new URL(relay.url).port), host: "127.0.0.1" });
  socket.on("error", () => undefined);
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  const head = await new Promise<string>((resolve) => {
    socket.once("data", (part) => {
      socket.pause();
      resolve(part.toString("latin1"));
    });
  });
  return { socket, status: head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length) };
}

const Finished = z.object({ output: z.object({ urls: z.tuple([z.string()]) }) });
const Key = z.object({ key: z.string() });

/** Call with which an SDK takes the file of the video. */
const CONTENT_CALL = `/v1/submit/openai-videos${CONTENT}`;
const OPERATOR = [`Authorization: Bearer ${OPERATOR_KEY}`];

/** Returns the request with the link to the output of a finished video. */
async function linkOfVideo(): Promise<readonly string[]> {
  const id = randomUUID();
  const body = { model: "sora-2", prompt: "a fox" };
  const headers = { "Relay-Task-Id": id };
  const path = "/v1/submit/openai-videos/v1/videos";
  expect((await relay.client.send("POST", path, body, { headers })).status).toBe(200);
  const finished = await vi.waitUntil(async () => {
    const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
    return Finished.safeParse(json).data;
  }, PATIENCE);
  const { pathname } = new URL(finished.output.urls[0]);
  return [`GET ${pathname} HTTP/1.1`, "Host: relay.example.com"];
}

/** A call whose answer is a job, or as here its result. */
const PREDICTIONS = "/v1/submit/replicate/v1/predictions";
const CALL = JSON.stringify({ version: "v1", input: { prompt: "a fox" } });

/** Creates an account, and returns the headers of its calls. */
async function asAccount(): Promise<Readonly<Record<string, string>>> {
  const id = `acct_${randomUUID()}`;
  await relay.client.ask("POST", "/v1/accounts", { id });
  const { json } = await relay.client.ask("POST", `/v1/accounts/${id}/keys`, { role: "full" });
  const { key } = Key.parse(json);
  return { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
}

/** Makes such a call and reads the whole answer. @returns the number of its bytes. */
async function readAnswer(headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(relay.url + PREDICTIONS, { method: "POST", headers, body: CALL });
  return (await response.arrayBuffer()).byteLength;
}

describe.concurrent("a client that stops reading", () => {
  it("of 20 readers of one output, 16 get it; when they read nothing for a minute, the relay ends its requests to the upstream, and other readers get the output", async () => {
    const get = await linkOfVideo();
    const content = [`GET ${CONTENT_CALL} HTTP/1.1`, ...get.slice(1), ...OPERATOR];
    // The content is that of the same task, so that both share its places.
    const readers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => stopReading(i % 2 === 0 ? get : content)),
    );
    const count = (status: string) => readers.filter((each) => each.status === status).length;
    expect([count("200"), count("429"), upstream.readers]).toEqual([16, 4, 16]);
    await vi.waitUntil(() => upstream.readers === 0, PATIENCE);
    // Those that hang up leave their places at once.
    for (const request of [get, content]) {
      const next = await Promise.all(Array.from({ length: 16 }, () => stopReading(request)));
      expect(next.filter(({ status }) => status === "200")).toHaveLength(16);
      for (const { socket } of next) socket.destroy();
      await vi.waitUntil(() => upstream.readers === 0, PATIENCE);
    }
    for (const { socket } of readers) socket.destroy();
  });

  it("while one account leaves two long responses unread, another account still gets a response; after a minute the first account gets one again, too", async () => {
    const [greedy, other] = [await asAccount(), await asAccount()];
    const head = [
      `POST ${PREDICTIONS} HTTP/1.1`,
      "Host: relay.example.com",
      ...Object.entries(greedy).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${CALL.length}`,
    ];
    const unread = await Promise.all([1, 2].map(() => stopReading(head, CALL)));
    expect(unread.map(({ status }) => status)).toEqual(["200", "200"]);
    expect(await readAnswer(other)).toBeGreaterThan(ANSWER_BYTES);
    await vi.waitUntil(async () => (await readAnswer(greedy)) > ANSWER_BYTES, PATIENCE);
    for (const { socket } of unread) socket.destroy();
  });

  it("that has called for pictures gets no more of them after a minute, and its task is completed", async () => {
    const id = randomUUID();
    const body = JSON.stringify({ model: "gpt-image-1", prompt: "a fox" });
    const { socket, status } = await stopReading(
      [
        "POST /v1/submit/openai-videos/v1/images/generations HTTP/1.1",
        "Host: relay.example.com",
        ...OPERATOR,
        `Relay-Task-Id: ${id}`,
        `Content-Length: ${body.length}`,
      ],
      body,
    );
    expect(status).toBe("200");
    await vi.waitUntil(async () => {
      const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
      return Finished.safeParse(json).success;
    }, PATIENCE);
    socket.destroy();
  });
});
