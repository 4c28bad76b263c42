import { expect, it, vi } from "vitest";
import { BODY_DEADLINE_MS } from "../../src/api/http/body.ts";
import { aKey, anAccount, booksOf } from "./accounts.ts";
import { invalid, refusal } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { anUpstream, callJob, RELAY } from "./job-calls.ts";
import { answering, type Outside } from "./outside.ts";
import { aRateLimit, LIMITED } from "./rate-limits.ts";
import { holdTimers } from "./timers.ts";

useClock();

const FILES = "https://api.replicate.com/v1/files";
const PATH = "/v1/files";
const TYPE = "multipart/form-data; boundary=fox";
const FILE = `--fox\r\nContent-Disposition: form-data; name="content"; filename="a.png"\r\n\r\n${"p".repeat(200_000)}\r\n--fox--\r\n`;
const CREATED = { id: "file-1", urls: { get: `${FILES}/file-1` } };
const PROXY = "https://proxy.example.com";
const MIB = 1024 * 1024;

/** Returns bindings with one offer of Replicate, with these further members. */
function offering(more: object): object {
  const offer = { connection: "replicate", models: ["acme/*"], price: { credits: 60 }, ...more };
  return { ...RELAY, OFFERS: JSON.stringify([offer]) };
}
const OFFERED = offering({ uploads: true });

function aReplicate(site = answering(CREATED, 201)): Outside {
  return anUpstream(FILES, site);
}

interface Upload {
  readonly path?: string;
  readonly key?: string;
  readonly body?: string | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bindings?: object;
}

/** Uploads a file as an SDK does: the length of the body is stated, unless the headers say otherwise. */
function send({ path = PATH, body = FILE, bindings = OFFERED, ...upload }: Upload = {}) {
  const length = typeof body === "string" ? { "Content-Length": String(body.length) } : {};
  const headers = { "Content-Type": TYPE, ...length, ...upload.headers };
  const key = upload.key === undefined ? {} : { key: upload.key };
  return callJob("replicate", path, { method: "POST", body, headers, ...key }, bindings);
}

async function aFullKey() {
  const account = await anAccount(100);
  return { account, ...(await aKey(account)) };
}

it("an operator's upload of a file reaches the upstream byte for byte, with the relay's key for the upstream, and the operator gets the upstream's response", async () => {
  const outside = aReplicate();
  const response = await send({ headers: { "X-Own": "1" } });
  expect([response.status, await response.json()]).toEqual([201, CREATED]);
  const [sent, ...others] = outside.sentTo(FILES);
  expect(others).toEqual([]);
  expect(sent).toMatchObject({ method: "POST", url: FILES, body: FILE, redirect: "manual" });
  expect(sent?.headers).toMatchObject({
    authorization: `Bearer ${RELAY.REPLICATE_API_TOKEN}`,
    "content-type": TYPE,
  });
});

it("an account can upload a file to a connection for which OFFERS permits uploads, and is charged nothing", async () => {
  const outside = aReplicate();
  const { account, key } = await aFullKey();
  expect((await send({ key })).status).toBe(201);
  expect(outside.sentTo(FILES)).toHaveLength(1);
  expect(await booksOf(account)).toEqual(["grant 100"]);
});

it.each([
  ["no offer", { ...RELAY, OFFERS: "[]" }],
  ["an offer of another connection alone", offering({ uploads: true, connection: "fal" })],
])(
  "when OFFERS has %s, an account's upload gets 404, as at a connection that does not exist, and nothing is sent",
  async (_, bindings) => {
    const outside = aReplicate();
    const { key } = await aFullKey();
    const refused = await refusal(await send({ key, bindings }));
    expect(refused).toEqual({ status: 404, code: "not_found" });
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

it.each([
  ["an offer without uploads", offering({})],
  ["an offer with uploads: false", offering({ uploads: false })],
  ["an offer with uploads for customers' own keys", offering({ uploads: true, key: "customer" })],
])(
  "when OFFERS has %s, an account's upload gets 403 not_offered, and nothing is sent",
  async (_, bindings) => {
    const outside = aReplicate();
    const { key } = await aFullKey();
    const refused = await refusal(await send({ key, bindings }));
    expect(refused).toEqual({ status: 403, code: "not_offered" });
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

it("when OFFERS permits uploads with customers' own upstream keys, an upload with such a key is sent to the upstream with this key", async () => {
  const outside = aReplicate();
  const { key } = await aFullKey();
  const bindings = offering({ uploads: true, key: "customer" });
  const response = await send({
    key: "test-only-customer-key",
    headers: { "Relay-Key": key },
    bindings,
  });
  expect(response.status).toBe(201);
  expect(outside.sentTo(FILES)[0]?.headers["authorization"]).toBe("Bearer test-only-customer-key");
});

it.each([
  ["without Content-Length", { "Content-Length": "" }, { status: 411, code: "length_required" }],
  [
    "with a wrong Content-Length",
    { "Content-Length": "1e3" },
    { status: 411, code: "length_required" },
  ],
  [
    "of more than 100 MB",
    { "Content-Length": String(100 * MIB + 1) },
    { status: 413, code: "payload_too_large" },
  ],
  ["that is compressed", { "Content-Encoding": "gzip" }, invalid("/Content-Encoding")],
])("an upload %s is refused, and nothing is sent", async (_, headers, expected) => {
  const outside = aReplicate();
  expect(await refusal(await send({ headers }))).toEqual(expected);
  expect(outside.sentTo("https://")).toEqual([]);
});

it.each([
  ["shorter", FILE.length + 1],
  ["longer", FILE.length - 1],
])(
  "an upload whose body is %s than its Content-Length is refused, and the upstream's response is not passed on",
  async (_, length) => {
    aReplicate();
    const response = await send({ headers: { "Content-Length": String(length) } });
    expect(await refusal(response)).toEqual(invalid("/Content-Length"));
  },
);

it("an upload is passed on while it arrives: the upstream has its first part before the client sends the last one", async () => {
  const parts = ["one", "two"].map((text) => new TextEncoder().encode(text.repeat(100)));
  const seen = Promise.withResolvers<void>();
  let got = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    for await (const piece of request.body ?? []) {
      got += piece.length;
      seen.resolve();
    }
    return Response.json(CREATED, { status: 201 });
  });
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const answer = send({ body: readable, headers: { "Content-Length": "600" } });
  await writer.write(parts[0]);
  await seen.promise;
  expect(got).toBe(300);
  await writer.write(parts[1]);
  await writer.close();
  expect((await answer).status).toBe(201);
  expect(got).toBe(600);
});

it("a client that stops in the middle of an upload gets 408 after 30 seconds without data, and the request to the upstream is aborted", async () => {
  const aborted = vi.fn<() => void>();
  vi.spyOn(globalThis, "fetch").mockImplementation(
    (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => {
          aborted();
          reject(new Error("aborted"));
        });
      }),
  );
  const pass = holdTimers(BODY_DEADLINE_MS);
  const { readable, writable } = new IdentityTransformStream();
  const answer = send({ body: readable, headers: { "Content-Length": "600" } });
  let isAnswered = false;
  void answer.finally(() => (isAnswered = true));
  await until(() => {
    pass();
    return isAnswered;
  });
  expect(await refusal(await answer)).toEqual({ status: 408, code: "body_timeout" });
  expect(aborted).toHaveBeenCalledOnce();
  await writable.abort().catch(() => undefined);
});

it("when the upstream answers an upload before the end of the file, the upload ends with the upstream's response", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () =>
    Response.json({ detail: "too large" }, { status: 413 }),
  );
  const response = await send();
  expect([response.status, await response.json()]).toEqual([413, { detail: "too large" }]);
});

it("when the upstream does not answer an upload, the response is 504 in the upstream's own form", async () => {
  aReplicate(() => {
    throw new Error("the connection was lost");
  });
  const response = await send();
  expect(response.status).toBe(504);
  expect(await response.json()).toMatchObject({ status: 504, detail: expect.any(String) });
});

it("an upstream's answer about the operator's balance, with HTTP 200 and a code in the body, is hidden from the account that uploads a file", async () => {
  const path = "/api/v3/media/upload/binary";
  const bindings = {
    ...offering({ connection: "wavespeed", uploads: true }),
    WAVESPEED_API_KEY: "k",
  };
  anUpstream("https://api.wavespeed.ai", answering({ code: 402, message: "acme owes $3" }));
  const { key } = await aFullKey();
  const headers = { "Content-Type": TYPE, "Content-Length": String(FILE.length) };
  const message = { method: "POST", body: FILE, headers, key };
  const response = await callJob("wavespeed", path, message, bindings);
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain("owes");
});

it("the response to an account's upload of a file does not show the relay's key for the upstream", async () => {
  aReplicate(({ headers }) => Response.json({ echo: headers["authorization"] }));
  const { key } = await aFullKey();
  const text = await (await send({ key })).text();
  expect(text).toContain("echo");
  expect(text).not.toContain(RELAY.REPLICATE_API_TOKEN);
});

it("an account's uploads are counted by LIMIT_SUBMITS, and a key with the role read cannot upload", async () => {
  const outside = aReplicate();
  const { account, key } = await aFullKey();
  const bindings = { ...OFFERED, LIMIT_SUBMITS: aRateLimit(1) };
  expect((await send({ key, bindings })).status).toBe(201);
  expect(await refusal(await send({ key, bindings }))).toEqual(LIMITED);
  const { key: reading } = await aKey(account, "read");
  const refused = await refusal(await send({ key: reading }));
  expect(refused).toEqual({ status: 403, code: "forbidden" });
  expect(outside.sentTo(FILES)).toHaveLength(1);
});

it("uploaded files cannot be read, listed or deleted through the relay, not even by the account that uploaded them: 404, and no request is sent", async () => {
  const outside = aReplicate();
  const { key } = await aFullKey();
  for (const [method, path] of [
    ["GET", PATH],
    ["GET", `${PATH}/file-1`],
    ["GET", `${PATH}/file-1/download`],
    ["DELETE", `${PATH}/file-1`],
    ["PUT", PATH],
  ] as const) {
    const response = await callJob("replicate", path, { method, key }, OFFERED);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      detail: expect.stringContaining("POST /v1/files"),
    });
  }
  expect(outside.sentTo("https://")).toEqual([]);
});

it.each([
  `${PATH}/`,
  `/${PATH}`,
  `${PATH}/file-1`,
  "/v1/FILES",
  "/v1%2ffiles",
  "/v1/predictions/..%2ffiles",
])(
  "a POST to %s, which is no path for uploads, gets 400 or 404, and no request is sent",
  async (path) => {
    const outside = aReplicate();
    const { key } = await aFullKey();
    const response = await send({ path, key });
    expect([400, 404]).toContain(response.status);
    expect(outside.sentTo("https://")).toEqual([]);
  },
);

it.each([
  ["https://rest.fal.ai", {}],
  [PROXY, { FAL_BASE_URL: PROXY, EXTRA_BASE_HOSTS: new URL(PROXY).host }],
])(
  "an upload to fal goes to %s with storage_type=fal-cdn-v3 in place of the caller's query, and no other host gets the key",
  async (origin, more) => {
    const answer = {
      upload_url: "https://v3.fal.media/a?sig=1",
      file_url: "https://v3.fal.media/a",
    };
    const outside = anUpstream(origin, answering(answer));
    const message = {
      method: "POST",
      body: '{"file_name":"a.png"}',
      headers: { "Content-Length": "21" },
    };
    const path = "/storage/upload/initiate?storage_type=gcs";
    const response = await callJob("fal", path, message, { ...RELAY, ...more });
    expect(await response.json()).toEqual(answer);
    const sent = outside
      .sentTo("https://")
      .map(({ url, headers }) => [url, headers["authorization"]]);
    const url = `${origin}/storage/upload/initiate?storage_type=fal-cdn-v3`;
    expect(sent).toEqual([[url, `Key ${RELAY.FAL_KEY}`]]);
  },
);

it("an upload reaches the upstream without the caller's query, and is refused when one of its headers contains the caller's relay key", async () => {
  const outside = aReplicate();
  const { key } = await aFullKey();
  await send({ path: `${PATH}?purpose=other`, key });
  expect(outside.sentTo(FILES).map(({ url }) => url)).toEqual([FILES]);
  const leaked = await send({ key, headers: { Accept: `text/${key}` } });
  expect(await refusal(leaked)).toEqual(invalid("/accept"));
  expect(outside.sentTo(FILES)).toHaveLength(1);
});
