import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "../worker/accounts.ts";
import {
  answerTo,
  callWith,
  OPERATOR_KEY,
  ORIGIN,
  refusal,
  UNKNOWN_TASK,
} from "../worker/client.ts";
import { DAY_MS, pass, useClock } from "../worker/clock.ts";
import { restart, stored, untilIdle, wake } from "../worker/objects.ts";
import { answering, type Site } from "../worker/outside.ts";
import { register } from "../worker/tasks.ts";
import {
  aGateway,
  callLater,
  CALLING,
  type LaterCall,
  made,
  makeCall,
  readCalled,
} from "./called.ts";
import { bucket, bytesOf, pathOfLink } from "./copied.ts";

useClock();

const IMAGES = "/v1/images/generations";
const IMAGE_CALL = { path: IMAGES, body: { model: "gpt-image-1", prompt: "a fox" } };
const CHAT_CALL = { path: "/v1/chat/completions", body: { model: "gpt-5", messages: [] } };
/** The beginning of a PNG, and more bytes. */
const PNG = btoa(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${"p".repeat(2_000)}`);
const USAGE = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };

/** Returns an answer to a call for images, with these texts beside them. */
function imagesWith(...prompts: readonly string[]) {
  const data = prompts.map((revised_prompt) => ({ revised_prompt, b64_json: PNG }));
  return { created: 1_767_225_600, data, usage: USAGE };
}

/** Reads the upstream's answer to the call of a task. */
function readAnswer(
  id: string,
  key: string | null = OPERATOR_KEY,
  query = "",
  bindings: object = CALLING,
) {
  return callWith(bindings, `/v1/tasks/${id}/answer${query}`, { key });
}

/** Creates an account, lets it make a call, and returns the id of the task and the account's key. */
async function madeByAccount(call: LaterCall = IMAGE_CALL) {
  const { key } = await aKey(await anAccount(20));
  const OFFERS = JSON.stringify([
    { connection: "newapi", models: ["gpt-*"], price: { credits: 5 } },
  ]);
  const bindings = { ...CALLING, OFFERS };
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const response = await callLater({ ...call, bindings, key, headers });
  const { id } = z.looseObject({ id: z.string() }).parse(await response.json());
  await restart(id, bindings);
  await makeCall(id, bindings);
  await untilIdle(id);
  return { id, key };
}

function cancel(id: string): Promise<Response> {
  return callWith(CALLING, `/v1/tasks/${id}/cancel?force=true`, { body: "" });
}

/** Returns the bucket of the tests, which sends files in pieces of so many bytes. */
function inPieces(length: number) {
  const get = async (key: string) => {
    const object = await bucket().get(key);
    if (object === null) return null;
    const { size, httpEtag, httpMetadata } = object;
    const bytes = await object.bytes();
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (at >= size) return controller.close();
        controller.enqueue(bytes.slice(at, at + length));
        at += length;
      },
    });
    return { size, httpEtag, httpMetadata, body };
  };
  return { get };
}

/** Reports that the job of a task has ended with an output that the relay does not copy. */
async function reportCompleted(id: string): Promise<void> {
  const output = { urls: ["http://192.0.2.1/video.mp4"] };
  await callWith(CALLING, "/v1/events", { body: { id, status: "completed", output } });
}

async function linksOf(id: string): Promise<readonly string[]> {
  return (await readCalled(id)).output?.urls ?? [];
}

const Submitted = z.looseObject({ submission: z.looseObject({ id: z.string() }) });

/** Returns the text that stands for a file of a task in the answer as the relay stores it. */
async function placeholderOf(id: string, number: number): Promise<string> {
  const { submission } = Submitted.parse((await stored(id)).record);
  return `relay-output:${submission.id}:${number}`;
}

describe("the answer of an upstream to a call", () => {
  it("is 202 with the task while the task is open, and then the upstream's JSON with links in place of files", async () => {
    aGateway(answering(imagesWith("a red fox", "a fox in snow")));
    const id = crypto.randomUUID();
    await callLater({ ...IMAGE_CALL, headers: { "Relay-Task-Id": id } });
    const open = await readAnswer(id);
    expect([open.status, open.headers.get("Retry-After")]).toEqual([202, "5"]);
    expect(open.headers.has("Relay-Task-Id")).toBe(false);
    expect(await open.json()).toMatchObject({ id, status: "pending" });
    await makeCall(id);
    await untilIdle(id);
    const response = await readAnswer(id);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "relay-task-id": id,
    });
    const [first, second, ...others] = await linksOf(id);
    expect(others).toEqual([]);
    expect(await response.json()).toEqual({
      created: 1_767_225_600,
      data: [
        { revised_prompt: "a red fox", url: first },
        { revised_prompt: "a fox in snow", url: second },
      ],
      usage: USAGE,
    });
  });

  it("that is awaited with ?wait is sent when the task ends", async () => {
    aGateway(answering(imagesWith("a fox")));
    const id = crypto.randomUUID();
    await callLater({ ...IMAGE_CALL, headers: { "Relay-Task-Id": id } });
    const waiting = readAnswer(id, OPERATOR_KEY, "?wait=60");
    await makeCall(id);
    expect((await waiting).status).toBe(200);
  });

  it("is read by OpenAI's SDK, which finds the link and the usage where it expects them", async () => {
    aGateway(answering(imagesWith("a fox")));
    const id = await made(IMAGE_CALL);
    const client = new OpenAI({
      apiKey: OPERATOR_KEY,
      baseURL: `${ORIGIN}/v1/tasks`,
      dangerouslyAllowBrowser: true,
      fetch: async (url, init) => answerTo(new Request(url, init), CALLING),
    });
    const { data, usage } = await client.get<OpenAI.ImagesResponse>(`/${id}/answer`);
    expect(data?.map(({ url }) => url)).toEqual(await linksOf(id));
    expect(usage?.total_tokens).toBe(7);
  });

  it.each([1, 7])(
    "has every link and every other character, also when it is read in pieces of %d bytes",
    async (length) => {
      const prompts = Array.from({ length: 12 }, (_, i) => `🦊 relay-output:${i} relay-${i}`);
      aGateway(answering(imagesWith(...prompts)));
      const id = await made(IMAGE_CALL);
      const links = await linksOf(id);
      const data = prompts.map((revised_prompt, i) => ({ revised_prompt, url: links[i] }));
      const bindings = { ...CALLING, OUTPUTS: inPieces(length) };
      const response = await readAnswer(id, OPERATOR_KEY, "", bindings);
      const expected = JSON.stringify({ created: 1_767_225_600, data, usage: USAGE });
      expect(await response.text()).toBe(expected);
    },
  );

  it.each([
    ["JSON", '{"text": "A fox."}', "application/json; charset=utf-8"],
    ["text", "A fox.", "text/plain"],
  ])("that is %s without files is sent itself", async (_, text, type) => {
    aGateway(() => new Response(text, { headers: { "Content-Type": type } }));
    const id = await made({ path: "/v1/audio/transcriptions", body: { model: "whisper-1" } });
    const response = await readAnswer(id);
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, type]);
    expect(await response.text()).toBe(text);
  });

  it("that is sound is a redirect to the link of the output", async () => {
    const sound = bytesOf(`ID3\x04\0\0\0\0\0\0${"m".repeat(2_000)}`);
    aGateway(() => new Response(sound, { headers: { "Content-Type": "audio/mpeg" } }));
    const id = await made({ path: "/v1/audio/speech", body: { model: "tts-1", input: "a fox" } });
    const response = await readAnswer(id);
    expect([response.status, [response.headers.get("Location")]]).toEqual([302, await linksOf(id)]);
  });

  it("that states a job is sent once the task has ended", async () => {
    aGateway(answering({ task_id: "job-1" }));
    const id = await made();
    expect((await readAnswer(id)).status).toBe(202);
    await reportCompleted(id);
    const response = await readAnswer(id);
    expect([response.status, await response.json()]).toEqual([200, { task_id: "job-1" }]);
  });

  it("that the upstream has sent with 202 is 200 once the task has ended, so that 202 says that the task is open", async () => {
    aGateway(answering({ task_id: "job-1" }, 202));
    const id = await made();
    await reportCompleted(id);
    const job = await readAnswer(id);
    expect([job.status, await job.json()]).toEqual([200, { task_id: "job-1" }]);
    aGateway(answering(imagesWith("a fox"), 202));
    expect((await readAnswer(await made(IMAGE_CALL))).status).toBe(200);
  });

  it.each([
    ["an account", (key: string) => key],
    ["the operator", () => OPERATOR_KEY],
  ])(
    "that is a refusal of the call is sent to %s as the upstream has sent it",
    async (_, keyOf) => {
      const error = { error: { message: "bad size", type: "invalid_request_error" } };
      aGateway(answering(error, 400));
      const { id, key } = await madeByAccount();
      const response = await readAnswer(id, keyOf(key));
      expect([response.status, await response.json()]).toEqual([400, error]);
    },
  );

  it("that is a refusal of the operator's balance is sent to the operator, and an account learns nothing of it", async () => {
    const error = { error: { message: "You owe 7 dollars", code: "insufficient_user_quota" } };
    aGateway(answering(error, 402));
    const { id, key } = await madeByAccount();
    const shown = await readAnswer(id);
    expect([shown.status, await shown.json()]).toEqual([402, error]);
    const hidden = await readAnswer(id, key);
    expect(hidden.status).toBe(424);
    const text = await hidden.text();
    expect(JSON.parse(text)).toMatchObject({ code: "task_failed", task: { id } });
    expect(text).not.toMatch(/dollars|quota/);
  });
});

describe("instead of the answer of an upstream", () => {
  it.each<[string, LaterCall, Site, string, (id: string) => Promise<unknown>]>([
    [
      "to a call that was canceled before it was made",
      IMAGE_CALL,
      answering(imagesWith("a fox")),
      "canceled",
      cancel,
    ],
    [
      "to a call that was not begun within an hour",
      IMAGE_CALL,
      answering(imagesWith("a fox")),
      "queue_timeout",
      (id) => wake(id, 3_600_000),
    ],
    [
      "that states a job, which was canceled then",
      {},
      answering({ task_id: "job-1" }),
      "canceled",
      async (id) => (await makeCall(id)) && (await cancel(id)),
    ],
    [
      "that states neither a result nor a refusal",
      IMAGE_CALL,
      () => new Response("", { status: 524 }),
      "submit_unknown",
      (id) => makeCall(id),
    ],
  ])("%s, the task's error is sent", async (_, call, site, code, end) => {
    aGateway(site);
    const id = crypto.randomUUID();
    await callLater({ ...call, headers: { "Relay-Task-Id": id } });
    await end(id);
    await untilIdle(id);
    const response = await readAnswer(id);
    expect(response.status).toBe(424);
    const { error } = z
      .looseObject({ error: z.looseObject({ message: z.string() }) })
      .parse(await (await callWith(CALLING, `/v1/tasks/${id}`)).json());
    expect(await response.json()).toMatchObject({
      code: "task_failed",
      detail: error.message,
      task: { id, error: { code } },
    });
  });

  it("404 is sent for a task whose job the relay has not submitted", async () => {
    aGateway(answering({}));
    const id = await register();
    await cancel(id);
    expect(await refusal(await readAnswer(id))).toEqual({ status: 404, code: "not_found" });
  });

  it("404 is sent for a task whose result came from elsewhere than the answer, and whose answer was too large to be kept", async () => {
    aGateway(answering({ task_id: "job-1", text: "a".repeat(9_000) }));
    const id = await made();
    await reportCompleted(id);
    expect(await refusal(await readAnswer(id))).toEqual({ status: 404, code: "not_found" });
  });

  it("410 is sent once the links of its files have expired", async () => {
    aGateway(answering(imagesWith("a fox")));
    const bindings = { ...CALLING, OUTPUT_DAYS: "1" };
    const id = await made({ ...IMAGE_CALL, bindings });
    pass(DAY_MS);
    const response = await readAnswer(id, OPERATOR_KEY, "", bindings);
    expect([response.status, await response.json()]).toMatchObject([
      410,
      { reason: "link_expired" },
    ]);
  });

  it("410 is sent after the output that it is was deleted", async () => {
    aGateway(answering({ choices: [{ message: { content: "A fox." } }] }));
    const id = await made(CHAT_CALL);
    await callWith(CALLING, `/v1/tasks/${id}/outputs/1`, { method: "DELETE" });
    const response = await readAnswer(id);
    expect([response.status, await response.json()]).toMatchObject([410, { reason: "deleted" }]);
  });
});

describe("the answer of an upstream is not sent", () => {
  it("to another account, under an id that no task has, or without a key", async () => {
    aGateway(answering(imagesWith("a fox")));
    const { id, key } = await madeByAccount();
    const other = await aKey(await anAccount());
    expect((await readAnswer(id, key)).status).toBe(200);
    expect(await refusal(await readAnswer(id, other.key))).toEqual(UNKNOWN_TASK);
    expect(await refusal(await readAnswer(crypto.randomUUID()))).toEqual(UNKNOWN_TASK);
    expect((await readAnswer(id, null)).status).toBe(401);
  });

  it("to the account for which the operator has made the call", async () => {
    aGateway(answering(imagesWith("a fox")));
    const account = await anAccount();
    const { key } = await aKey(account);
    const id = await made({ ...IMAGE_CALL, headers: { "Relay-Account": account } });
    expect((await readAnswer(id)).status).toBe(200);
    expect(await refusal(await readAnswer(id, key))).toEqual({ status: 404, code: "not_found" });
  });

  it("to the holder of the status link of its task", async () => {
    aGateway(answering(imagesWith("a fox")));
    const id = crypto.randomUUID();
    const submitted = await callLater({ ...IMAGE_CALL, headers: { "Relay-Task-Id": id } });
    const link = new URL(submitted.headers.get("Relay-Status-Url") ?? "");
    await makeCall(id);
    const token = link.searchParams.get("token") ?? "";
    const byLink = await callWith(CALLING, link.pathname + link.search, { key: null });
    expect(byLink.status).toBe(200);
    expect((await readAnswer(id, token)).status).toBe(401);
    expect((await readAnswer(id, null, `?token=${token}`)).status).toBe(401);
  });

  it("under the same id after its task was erased and another one was submitted", async () => {
    aGateway(answering(imagesWith("a red fox")));
    const id = await made(IMAGE_CALL);
    expect(await (await readAnswer(id)).text()).toContain("a red fox");
    await callWith(CALLING, `/v1/tasks/${id}`, { method: "DELETE" });
    expect(await refusal(await readAnswer(id))).toEqual(UNKNOWN_TASK);
    pass(1_000);
    aGateway(answering(imagesWith("a blue fox")));
    await callLater({ ...IMAGE_CALL, headers: { "Relay-Task-Id": id } });
    const open = await readAnswer(id);
    expect([open.status, await open.text()]).toEqual([202, expect.not.stringContaining("red")]);
    await makeCall(id);
    await untilIdle(id);
    const text = await (await readAnswer(id)).text();
    expect(text).toContain("a blue fox");
    expect(text).not.toContain("red");
  });

  it("with a link to a file of another task, although the upstream has written the placeholder of that file", async () => {
    aGateway(answering(imagesWith("a secret fox")));
    const secret = await made(IMAGE_CALL);
    const [link = ""] = await linksOf(secret);
    const forged = await placeholderOf(secret, 1);
    aGateway(answering(imagesWith(forged, "relay-output:1", `relay-output:${secret}:1`)));
    const id = await made(IMAGE_CALL);
    const text = await (await readAnswer(id)).text();
    expect(text).not.toContain(pathOfLink(link));
    expect(text).toContain(forged);
    expect(text).not.toContain(await placeholderOf(id, 1));
  });
});
