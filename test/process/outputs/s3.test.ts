import { randomBytes } from "node:crypto";
import { afterAll, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { Gateway } from "../calls/gateway.ts";
import { forward, LoopbackServer } from "../harness/loopback.ts";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { skipWithout } from "../harness/program.ts";
import { Receiver } from "../harness/receiver.ts";
import { S3_PROGRAM, S3Server } from "../harness/s3-server.ts";
import { Workerd } from "../harness/workerd.ts";
import { OutputSource, type SourceFile, videoBytes } from "./output-source.ts";

const MIB = 1024 * 1024;
/** Beginning of a picture, by which its type is known. */
const PNG_START = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
const PUBLIC_URL = "https://relay.example.com";
const VARS = { ...LOCAL_VARS, PUBLIC_URL };
/** Time in milliseconds within which a copy ends. A failed try is repeated after 10 s, and later after 20 s. */
const KEPT_WITHIN_MS = 90_000;

const Read = z.looseObject({
  output: z.looseObject({ urls: z.array(z.string()) }),
  outputs: z.array(z.looseObject({ kept: z.boolean(), reason: z.string().optional() })),
});
const Health = z.looseObject({ store: z.object({ fault: z.string().nullable() }) });

/** A relay that keeps outputs in a store, and an upstream and a client of it. */
class Place implements AsyncDisposable {
  readonly store: S3Server;
  readonly relay: Workerd;
  readonly source: OutputSource;
  readonly receiver: Receiver;

  private constructor(store: S3Server, relay: Workerd, source: OutputSource, receiver: Receiver) {
    this.store = store;
    this.relay = relay;
    this.source = source;
    this.receiver = receiver;
  }

  static async start(vars: Readonly<Record<string, string>> = {}): Promise<Place> {
    const store = await S3Server.start();
    const relay = await Workerd.start({ vars: { ...VARS, ...store.vars, ...vars } });
    return new Place(store, relay, await OutputSource.start(), await Receiver.start());
  }

  /** Completes a task with these files as outputs. @returns its id. */
  async completed(
    ...files: readonly (Partial<SourceFile> & Pick<SourceFile, "bytes">)[]
  ): Promise<string> {
    const id = crypto.randomUUID();
    const urls = files.map((file, index) =>
      this.source.serve(`/${id}/${index}.mp4`, {
        isLengthStated: true,
        firstAnswer: "whole",
        ...file,
      }),
    );
    const callback = this.receiver.at(`/${id}`, { kind: "answer", status: 204 });
    const event = { ...completedEvent(id, callback), output: { urls, metadata: {} } };
    expect((await this.relay.client.ask("POST", "/v1/events", event)).status).toBe(202);
    return id;
  }

  async read(id: string) {
    return Read.parse((await this.relay.client.ask("GET", `/v1/tasks/${id}`)).json);
  }

  /** Waits until all outputs of a task are kept. */
  async kept(id: string): Promise<void> {
    const isKept = async () => (await this.read(id)).outputs.every(({ kept }) => kept);
    await vi.waitUntil(isKept, { timeout: KEPT_WITHIN_MS, interval: 200 });
  }

  /** Opens a link of the relay to an output. */
  async open(id: string, init: RequestInit = {}, number = 1): Promise<Response> {
    const link = (await this.read(id)).output.urls[number - 1] ?? "";
    return fetch(link.replace(PUBLIC_URL, this.relay.url), { ...init, redirect: "manual" });
  }

  async fault(): Promise<string | null> {
    return Health.parse((await this.relay.client.ask("GET", "/healthz")).json).store.fault;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.relay[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
    await this.source[Symbol.asyncDispose]();
    await this.receiver[Symbol.asyncDispose]();
  }
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const withHeaders = (headers: Readonly<Record<string, string>>) => ({ headers });

let started: Promise<Place> | null = null;
/** Returns the place that most of these tests share. */
const place = () => (started ??= Place.start());
afterAll(async () => (await started)?.[Symbol.asyncDispose]());
beforeEach(({ skip }) => skipWithout([S3_PROGRAM], skip));

it("an output of stated length is kept, and its link opens it whole and in part as that of a copy in R2 does", async () => {
  const shared = await place();
  const bytes = videoBytes("whole", 300_000);
  const id = await shared.completed({ bytes });
  await shared.kept(id);
  const whole = await shared.open(id);
  const etag = whole.headers.get("ETag") ?? "";
  expect([whole.status, whole.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
  expect(etag).toMatch(/^"[\w-]+"$/);
  expect(Buffer.compare(await bytesOf(whole), bytes)).toBe(0);
  for (const [range, first, last] of [
    ["bytes=100000-100009", 100_000, 100_009],
    ["bytes=299990-", 299_990, 299_999],
    ["bytes=-10", 299_990, 299_999],
    ["bytes=299990-999999", 299_990, 299_999],
    ["bytes=-999999", 0, 299_999],
  ] as const) {
    const part = await shared.open(id, withHeaders({ Range: range }));
    expect([part.status, part.headers.get("Content-Range")]).toEqual([
      206,
      `bytes ${first}-${last}/300000`,
    ]);
    expect(Buffer.compare(await bytesOf(part), bytes.subarray(first, last + 1))).toBe(0);
  }
  const head = await shared.open(id, { method: "HEAD" });
  expect([head.status, head.headers.get("Content-Length"), head.headers.get("ETag")]).toEqual([
    200,
    "300000",
    etag,
  ]);
  const known = await shared.open(id, withHeaders({ "If-None-Match": etag }));
  expect([known.status, known.headers.get("ETag")]).toEqual([304, etag]);
  const other = await shared.open(id, withHeaders({ "If-None-Match": '"other"' }));
  expect([other.status, (await bytesOf(other)).length]).toEqual([200, 300_000]);
  const changed = await shared.open(id, withHeaders({ "If-Match": '"other"' }));
  expect(changed.status).toBe(412);
  for (const range of ["bytes=300000-", "bytes=-0"]) {
    const beyond = await shared.open(id, withHeaders({ Range: range }));
    expect([beyond.status, beyond.headers.get("Content-Range")]).toEqual([416, "bytes */300000"]);
  }
});

it("outputs of 20 MB, of 50 KB and of exactly one part, none of stated length, are kept byte by byte, and no upload is left", async () => {
  const shared = await place();
  const files = [20_000_000, 50_000, 8 * MIB].map((length) => ({
    bytes: videoBytes(`parts-${length}`, length),
    isLengthStated: false,
  }));
  const id = await shared.completed(...files);
  await shared.kept(id);
  for (const [index, { bytes }] of files.entries()) {
    const opened = await shared.open(id, {}, index + 1);
    expect(Buffer.compare(await bytesOf(opened), bytes)).toBe(0);
  }
  expect((await shared.store.content()).parts).toBe(0);
});

it("a copy of stated length is stored by one request, a copy of unknown length by one for each part of 8 MiB and two more, and each request states its length", async () => {
  const requests: string[] = [];
  let origin = "";
  await using proxy = await new LoopbackServer((request, response) => {
    const { method = "", url = "", headers } = request;
    const query = url.split("?")[1]?.replace(/(?<=uploadId=).*/, "…") ?? "";
    requests.push([method, headers["content-length"] ?? "no length", query].join(" ").trim());
    forward(origin, request, response);
  }).listen();
  await using own = await Place.start({ OUTPUTS_S3_URL: proxy.origin });
  origin = own.store.vars["OUTPUTS_S3_URL"] ?? "";
  await own.kept(await own.completed({ bytes: videoBytes("stated", 300_000) }));
  expect(requests.splice(0)).toEqual(["PUT 300000"]);
  const bytes = videoBytes("unstated", 20_000_000);
  const id = await own.completed({ bytes, isLengthStated: false });
  await own.kept(id);
  expect(requests.splice(0)).toEqual([
    "POST 0 uploads=",
    "PUT 8388608 partNumber=1&uploadId=…",
    "PUT 8388608 partNumber=2&uploadId=…",
    "PUT 3222784 partNumber=3&uploadId=…",
    expect.stringMatching(/^POST \d+ uploadId=…$/),
  ]);
  expect((await own.relay.client.ask("DELETE", `/v1/tasks/${id}/outputs`)).status).toBe(204);
  expect(requests).toEqual([expect.stringMatching(/^DELETE/)]);
});

it("after DELETE of an output its link answers 410, and after the erasure of its task nothing of it is in the store", async () => {
  const shared = await place();
  const id = await shared.completed(
    { bytes: videoBytes("one", 1_000) },
    { bytes: videoBytes("two", 1_000) },
  );
  await shared.kept(id);
  const keysOf = async () =>
    (await shared.store.content()).keys.filter((key) => key.includes(id)).length;
  expect(await keysOf()).toBe(2);
  const { client } = shared.relay;
  expect((await client.ask("DELETE", `/v1/tasks/${id}/outputs/1`)).status).toBe(204);
  expect([(await shared.open(id)).status, await keysOf()]).toEqual([410, 1]);
  expect((await client.ask("DELETE", `/v1/tasks/${id}`)).status).toBe(204);
  expect(await keysOf()).toBe(0);
});

it("a large picture in the answer to a call whose client does not wait is stored while the answer arrives, and the answer has its link", async () => {
  const picture = Buffer.concat([PNG_START, randomBytes(9 * MIB)]);
  const answer = JSON.stringify({ created: 1, data: [{ b64_json: picture.toString("base64") }] });
  await using gateway = await Gateway.start((_, response) => void response.end(answer));
  await using own = await Place.start({
    ...gateway.vars,
  });
  const { client } = own.relay;
  const path = "/v1/submit/newapi/v1/images/generations";
  const headers = {
    Prefer: "respond-async",
    "Relay-Callback-Url": own.receiver.at("/called", { kind: "answer", status: 204 }),
  };
  const response = await client.send(
    "POST",
    path,
    { model: "gpt-image-1", prompt: "a fox" },
    { headers },
  );
  expect(response.status).toBe(202);
  const { id } = z.looseObject({ id: z.string() }).parse(await response.json());
  await vi.waitUntil(() => own.receiver.posts.length > 0, { timeout: 30_000 });
  const link = (await own.read(id)).output.urls[0] ?? "";
  expect(Buffer.compare(await bytesOf(await own.open(id)), picture)).toBe(0);
  const read = await client.send("GET", `/v1/tasks/${id}/answer`);
  expect([read.status, await read.text()]).toEqual([200, expect.stringContaining(link)]);
  expect((await own.store.content()).keys).toHaveLength(2);
});

it("a relay that is killed while it uploads an output in parts keeps the output after its restart, and no part of the first upload stays", async () => {
  const shared = await place();
  const bytes = videoBytes("killed", 40_000_000);
  const id = await shared.completed({ bytes, isLengthStated: false });
  await vi.waitUntil(async () => (await shared.store.content()).parts > 0, {
    timeout: 30_000,
    interval: 20,
  });
  await shared.relay.kill9();
  expect((await shared.store.content()).parts).toBeGreaterThan(0);
  await shared.relay.restart();
  await shared.kept(id);
  expect(Buffer.compare(await bytesOf(await shared.open(id)), bytes)).toBe(0);
  expect((await shared.store.content()).parts).toBe(0);
});

it("while the store is down, links are answered with 503 and copies are tried again; once it is back, all outputs are kept", async () => {
  const shared = await place();
  const kept = await shared.completed({ bytes: videoBytes("before", 1_000) });
  await shared.kept(kept);
  await shared.store.kill9();
  expect((await shared.open(kept)).status).toBe(503);
  const late = await shared.completed({ bytes: videoBytes("late", 1_000) });
  await vi.waitUntil(
    () => /"event":"output.not_stored".*cannot be reached/.test(shared.relay.output),
    {
      timeout: 30_000,
    },
  );
  await shared.store.restart();
  expect((await shared.open(kept)).status).toBe(200);
  await shared.kept(late);
});

it("a store that takes connections and answers nothing is given up after 10 seconds", async () => {
  const shared = await place();
  const id = await shared.completed({ bytes: videoBytes("frozen", 1_000) });
  await shared.kept(id);
  shared.store.signal("SIGSTOP");
  try {
    expect((await shared.open(id)).status).toBe(503);
  } finally {
    shared.store.signal("SIGCONT");
  }
  expect((await shared.open(id)).status).toBe(200);
});

it.each([
  ["a wrong secret", { OUTPUTS_S3_SECRET: "wrong" }, "403 SignatureDoesNotMatch"],
  ["an unknown key", { OUTPUTS_S3_KEY: "unknown" }, "404 XAdminUserNotFound"],
  ["a bucket that does not exist", { OUTPUTS_S3_BUCKET: "missing" }, "404 NoSuchBucket"],
  ["a wrong region", { OUTPUTS_S3_REGION: "wrong-1" }, ""],
])("with %s GET /healthz and the log say what the store answers", async (_, wrong, answer) => {
  await using other = await Place.start(wrong);
  const fault = (await other.fault()) ?? "";
  expect(fault).toMatch(/^the store of outputs answered /);
  expect(fault).toContain(answer);
  await other.completed({ bytes: videoBytes("refused", 1_000) });
  await vi.waitUntil(() => other.relay.output.includes('"event":"output.not_stored"'), {
    timeout: 30_000,
  });
  expect(other.relay.output).toContain(fault);
});
