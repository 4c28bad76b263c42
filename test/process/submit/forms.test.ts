import { createHash } from "node:crypto";
import { connect } from "node:net";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { LoopbackServer } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";

const BOUNDARY = "form-boundary";
const FILE = Buffer.alloc(3_000_000, "the bytes of a picture ");
const Task = z.looseObject({ model: z.string() });

/** A call as the upstream has got it. */
interface Got {
  readonly length: string | undefined;
  readonly digest: string;
}

const got: Got[] = [];
const upstream = await forThisFile(
  new LoopbackServer((request, response) => {
    const digest = createHash("sha256");
    request.on("data", (piece: Buffer) => digest.update(piece));
    request.once("end", () => {
      got.push({ length: request.headers["content-length"], digest: digest.digest("hex") });
      const video = { id: `video_${got.length}`, object: "video", status: "queued" };
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(video));
    });
  }).listen(),
);
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      OPENAI_VIDEOS_API_KEY: "process-test-videos-key",
      OPENAI_VIDEOS_BASE_URL: upstream.origin,
    },
  }),
);

/** Returns a form with the model before a file of 3 MB, or after it. */
function formWith(model: string, isFileFirst: boolean): Buffer {
  const part = (disposition: string, content: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from("\r\n"),
    ]);
  const parts = [part('name="model"', model), part('name="image"; filename="a.png"', FILE)];
  return Buffer.concat([
    ...(isFileFirst ? parts.toReversed() : parts),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

/** Yields a form in pieces, so that its length is not stated. */
async function* inPieces(form: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < form.length; at += 100_000) yield form.subarray(at, at + 100_000);
}

it.each([
  ["before", "stated", "sora-2"],
  ["before", "not stated", "sora-2"],
  ["after", "stated", "openai-videos"],
] as const)(
  "a form with its model %s a file of 3 MB, whose length is %s, reaches the upstream byte for byte and with this length, and its task has the model %s",
  async (place, length, model) => {
    const form = formWith("sora-2", place === "after");
    const isStated = length === "stated";
    const answer = await fetch(`${relay.url}/v1/submit/openai-videos/v1/videos`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${OPERATOR_KEY}`,
        "Content-Type": `multipart/form-data; boundary=${BOUNDARY}`,
      },
      body: isStated ? form : ReadableStream.from(inPieces(form)),
      ...(!isStated && { duplex: "half" }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    expect(got.at(-1)).toEqual({
      length: isStated ? `${form.length}` : undefined,
      digest: createHash("sha256").update(form).digest("hex"),
    });
    const { json } = await relay.client.ask(
      "GET",
      `/v1/tasks/${answer.headers.get("Relay-Task-Id")}`,
    );
    expect(Task.parse(json).model).toBe(model);
  },
);

it("when a client hangs up in the beginning of a form, before its model, nothing reaches the upstream", async () => {
  const calls = got.length;
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
  const head = [
    "POST /v1/submit/openai-videos/v1/videos HTTP/1.1",
    "Host: localhost",
    `Authorization: Bearer ${OPERATOR_KEY}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    "Content-Length: 100000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; na`);
  socket.end();
  const answer = (await socket.setEncoding("utf8").toArray()).join("");
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain("must arrive whole");
  expect(got).toHaveLength(calls);
});
