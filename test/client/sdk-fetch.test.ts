import { expect, it, onTestFinished, vi } from "vitest";
import { TaskRelay } from "../../client/src/index.ts";
import { fetchFor } from "../../client/src/sdk-fetch.ts";
import {
  ACCEPTED,
  accepted,
  answer,
  connect,
  ID,
  refusal,
  type Scripted,
} from "./scripted-relay.ts";

const BASE = "https://api.replicate.com";
const URL_OF_SDK = `${BASE}/v1/predictions`;

const FAILED = refusal(503, "not_configured", { "Retry-After": "60" });

/** Returns the `fetch` for an SDK of a relay that gives these answers, and the requests that it has sent. */
function connected(...answers: readonly Scripted[]) {
  const { http } = connect(...answers);
  return { ...sending(http.fetch), http };
}

/** Returns the `fetch` for an SDK of a client that sends each request once, and the keys of the requests. */
function sending(send: (request: Request) => Promise<Response>) {
  const keys: (string | null)[] = [];
  const noted = (request: Request) => {
    keys.push(request.headers.get("Idempotency-Key"));
    return send(request);
  };
  const options = { url: "https://r.test", key: "planted-token", retryForMs: 0 };
  const relay = new TaskRelay({ ...options, fetch: noted });
  const callbackUrl = "https://client.example.com/hook";
  const sdkFetch = fetchFor(relay, "replicate", { baseUrl: `${BASE}/`, callbackUrl });
  return { sdkFetch, keys };
}

/** A call as SDKs make it. */
function aCall(more: Readonly<Record<string, string>> = {}, body: BodyInit = '{"input": {}}') {
  return { method: "POST", headers: { Authorization: "Token sdk", ...more }, body };
}

/** Returns a multipart body, which gets another boundary each time. */
function aForm(): FormData {
  const form = new FormData();
  form.set("prompt", "a fox");
  return form;
}

it("the client's fetch for an SDK submits to the relay what the SDK posts to the upstream, with the relay's key in place of the SDK's key", async () => {
  const { sdkFetch, http } = connected(accepted());
  const call = aCall({
    "x-api-key": "sdk",
    "x-goog-api-key": "sdk",
    "Content-Type": "application/json",
  });
  const response = await sdkFetch(`${URL_OF_SDK}?a=%2F`, call);
  expect([response.status, await response.json()]).toEqual([200, ACCEPTED]);
  expect(http.requests[0]).toMatchObject({
    method: "POST",
    url: "https://r.test/v1/submit/replicate/v1/predictions?a=%2F",
  });
  expect(Object.fromEntries(http.requests[0]?.headers ?? [])).toEqual({
    authorization: "Bearer planted-token",
    "content-type": "application/json",
    "idempotency-key": expect.any(String),
    "relay-callback-url": "https://client.example.com/hook",
  });
  expect(http.bodies).toEqual([call.body]);
});

it("with a customer's key, the client's fetch for an SDK leaves the SDK's key where it is, and sends the relay's key in Relay-Key", async () => {
  const { relay, http } = connect(accepted());
  const sdkFetch = fetchFor(relay, "replicate", { baseUrl: BASE, key: "customer" });
  await sdkFetch(URL_OF_SDK, aCall());
  expect(Object.fromEntries(http.requests[0]?.headers ?? [])).toMatchObject({
    authorization: "Token sdk",
    "relay-key": "Bearer planted-token",
  });
});

it("when an SDK repeats a failed call with a customer's API key, the client's fetch sends the same Idempotency-Key again; with another customer's API key it sends a new one", async () => {
  const { http } = connect("lost", accepted(), accepted());
  const single = new TaskRelay({
    url: "https://r.test",
    key: "k",
    retryForMs: 0,
    fetch: http.fetch,
  });
  const sdkFetch = fetchFor(single, "replicate", { baseUrl: BASE, key: "customer" });
  await expect(sdkFetch(URL_OF_SDK, aCall())).rejects.toThrow("fetch failed");
  await sdkFetch(URL_OF_SDK, aCall({ Authorization: "Token other" }));
  await sdkFetch(URL_OF_SDK, aCall());
  const [first, other, again] = http.requests.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(other).not.toBe(first);
  expect(again).toBe(first);
});

it("the client's fetch for an SDK accepts a Request object as its argument, and a base URL with a path", async () => {
  const { relay, http } = connect(accepted());
  const sdkFetch = fetchFor(relay, "ark", { baseUrl: "https://ark.example.com/api/v3" });
  await sdkFetch(new Request("https://ark.example.com/api/v3/contents/tasks", aCall()));
  expect(http.requests[0]?.url).toBe("https://r.test/v1/submit/ark/contents/tasks");
});

it("the client's fetch for an SDK passes on a request to any other server unchanged and without the relay's key", async () => {
  const { sdkFetch, http } = connected(accepted());
  const elsewhere = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation(async () => new Response("a file"));
  onTestFinished(() => elsewhere.mockRestore());
  const call = aCall();
  for (const url of ["https://files.example.com/a.png", `${BASE}.example.com/v1/predictions`]) {
    await expect((await sdkFetch(url, call)).text()).resolves.toBe("a file");
    expect(elsewhere).toHaveBeenLastCalledWith(url, call);
  }
  expect(http.requests).toEqual([]);
});

it("the client's fetch for an SDK reads a job through the relay, with the relay's key in place of the SDK's key and without an Idempotency-Key", async () => {
  const { sdkFetch, http } = connected(answer(200, { id: "job", status: "starting" }));
  const headers = { Authorization: "Token sdk" };
  const response = await sdkFetch(`${URL_OF_SDK}/job?a=%2F`, { headers });
  expect(await response.json()).toEqual({ id: "job", status: "starting" });
  expect(http.requests[0]).toMatchObject({
    method: "GET",
    url: "https://r.test/v1/submit/replicate/v1/predictions/job?a=%2F",
  });
  expect(Object.fromEntries(http.requests[0]?.headers ?? [])).toEqual({
    authorization: "Bearer planted-token",
  });
});

it("the client's fetch for an SDK passes DELETE of a job to the relay, which cancels it, and with a customer's API key sends the relay's key in Relay-Key", async () => {
  const { relay, http } = connect(new Response(null, { status: 204 }));
  const sdkFetch = fetchFor(relay, "runway", { baseUrl: BASE, key: "customer" });
  const headers = { Authorization: "Bearer own" };
  const response = await sdkFetch(`${BASE}/v1/tasks/job`, { method: "DELETE", headers });
  expect(response.status).toBe(204);
  expect(http.requests[0]).toMatchObject({
    method: "DELETE",
    url: "https://r.test/v1/submit/runway/v1/tasks/job",
  });
  expect(Object.fromEntries(http.requests[0]?.headers ?? [])).toEqual({
    authorization: "Bearer own",
    "relay-key": "Bearer planted-token",
  });
});

it("when an SDK follows a link to the relay, the client's fetch sends the relay's key, but only if the link's path belongs to the fetch's own connection", async () => {
  const { sdkFetch, http } = connected(answer(200, {}));
  const elsewhere = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response());
  onTestFinished(() => elsewhere.mockRestore());
  await sdkFetch("https://r.test/v1/submit/replicate/v1/predictions/job", {
    headers: { Authorization: "Token sdk" },
  });
  expect(http.requests[0]?.headers.get("Authorization")).toBe("Bearer planted-token");
  await sdkFetch("https://r.test/v1/submit/fal/x");
  await sdkFetch("https://r.test.example.com/v1/submit/replicate/x");
  expect([http.requests.length, elsewhere.mock.calls.length]).toEqual([1, 2]);
});

it.each([
  ["https://r.test/", BASE, "https://r.test"],
  ["HTTPS://R.test:443", "https://API.Replicate.com:443//", "https://r.test"],
  ["https://r.test/relay/", BASE, "https://r.test/relay"],
])(
  "given %s as the relay's URL and %s as the base URL, the client's fetch for an SDK recognises calls below the base URL and links to %s",
  async (url, baseUrl, base) => {
    const { http } = connect(answer(200, {}));
    const relay = new TaskRelay({ url, key: "k", retryForMs: 0, fetch: http.fetch });
    const sdkFetch = fetchFor(relay, "replicate", { baseUrl });
    const link = `${base}/v1/submit/replicate/v1/predictions/job`;
    await sdkFetch(link);
    await sdkFetch(`${URL_OF_SDK}/job`);
    expect(http.requests.map((request) => request.url)).toEqual([link, link]);
  },
);

it("the client's fetch for an SDK returns the answer to an upload unchanged", async () => {
  const { sdkFetch } = connected(answer(201, { urls: { get: "https://files.example.com/1" } }));
  const response = await sdkFetch(`${BASE}/v1/files`, aCall({}, aForm()));
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([201, null]);
  expect(await response.json()).toEqual({ urls: { get: "https://files.example.com/1" } });
});

it.each<[string, () => BodyInit]>([
  ["JSON", () => '{"input": {}}'],
  ["a form, whose boundary changes", aForm],
])(
  "when an SDK repeats a call that got no answer, the client's fetch sends the same Idempotency-Key again; body of the call: %s",
  async (_, body) => {
    const { sdkFetch, keys } = connected("lost", accepted());
    await expect(sdkFetch(URL_OF_SDK, aCall({}, body()))).rejects.toThrow("fetch failed");
    await sdkFetch(URL_OF_SDK, aCall({}, body()));
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  },
);

it("when an SDK repeats a call that was answered with 503, the client's fetch sends the same Idempotency-Key again", async () => {
  const { sdkFetch, keys } = connected(FAILED, accepted());
  expect((await sdkFetch(URL_OF_SDK, aCall())).status).toBe(503);
  await sdkFetch(URL_OF_SDK, aCall());
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});

it("when an SDK repeats a call that it has aborted, the client's fetch sends the same Idempotency-Key again", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const { sdkFetch, keys } = sending(async () => {
    if (signal.aborted) return accepted();
    controller.abort(new Error("timeout of the SDK"));
    throw new TypeError("fetch failed");
  });
  await expect(sdkFetch(URL_OF_SDK, { ...aCall(), signal })).rejects.toThrow("timeout of the SDK");
  await sdkFetch(URL_OF_SDK, aCall());
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});

it("the client's fetch gives equal calls of an SDK different Idempotency-Keys when each was answered before the next, or when they are made at the same time", async () => {
  const { sdkFetch, keys } = connected(accepted());
  const call = () => sdkFetch(URL_OF_SDK, aCall());
  await call();
  await Promise.all([call(), call()]);
  expect(new Set(keys).size).toBe(3);
});

it("when an SDK repeats two equal calls that have both failed, the client's fetch sends the Idempotency-Key of each again", async () => {
  const both = Promise.withResolvers<void>();
  let sent = 0;
  const { sdkFetch, keys } = sending(async () => {
    sent++;
    if (sent > 2) return accepted();
    if (sent === 2) both.resolve();
    await both.promise;
    throw new TypeError("fetch failed");
  });
  const call = () => sdkFetch(URL_OF_SDK, aCall());
  await Promise.allSettled([call(), call()]);
  await Promise.all([call(), call()]);
  expect(new Set(keys.slice(2))).toEqual(new Set(keys.slice(0, 2)));
  expect(new Set(keys).size).toBe(2);
});

it("when a call of an SDK has failed, the client's fetch does not use its Idempotency-Key for a call with another body", async () => {
  const { sdkFetch, keys } = connected(FAILED, accepted());
  await sdkFetch(URL_OF_SDK, aCall());
  await sdkFetch(URL_OF_SDK, aCall({}, '{"input": {"seed": 1}}'));
  expect(new Set(keys).size).toBe(2);
});

it("when a call of an SDK has an Idempotency-Key of its own, the client's fetch sends this key, even after a failed call with the same body", async () => {
  const { sdkFetch, keys } = connected(FAILED, accepted());
  await sdkFetch(URL_OF_SDK, aCall());
  await sdkFetch(URL_OF_SDK, aCall({ "Idempotency-Key": "sdk-1" }));
  expect(keys[1]).toBe("sdk-1");
});

it.each([
  [424, "submit_unknown", "false"],
  [409, "task_exists", "false"],
  [403, "forbidden", "false"],
  [429, "rate_limited", null],
  [503, "unavailable", null],
])(
  "when the relay refuses a call with %i %s, the client's fetch gives the SDK this refusal with the header x-should-retry %s",
  async (status, code, shouldRetry) => {
    const { sdkFetch } = connected(refusal(status, code, { "Retry-After": "60" }));
    const response = await sdkFetch(URL_OF_SDK, aCall());
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ code }),
    ]);
    expect(response.headers.get("x-should-retry")).toBe(shouldRetry);
  },
);

it("when the upstream refuses a call, the client's fetch returns the refusal with its headers (Retry-After, say) to the SDK and does not repeat the call", async () => {
  const headers = { "Relay-Task-Id": ID, "Retry-After": "7" };
  const { sdkFetch, http } = connected(answer(429, { title: "slow" }, headers));
  const response = await sdkFetch(URL_OF_SDK, aCall());
  expect([response.status, response.headers.get("Retry-After")]).toEqual([429, "7"]);
  expect(http.requests).toHaveLength(1);
});
