import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { callWith, invalid, post, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { attach, hooked, readHooked } from "./hooked.ts";
import { stored, untilIdle, wake } from "./objects.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { secretsOf } from "./secrets.ts";
import { BINDINGS, named, readSubmitted, submit } from "./submitted.ts";
import { aCompletion, aFailure, CALLBACK_URL, read, register, report, VIDEO } from "./tasks.ts";

useClock();

/** Escapes in JSON that strict parsers refuse: the second is half of an emoji in a cut text. */
const ODD = String.raw`a\u0000b\ud83d`;
const MENDED = "a\ufffdb\ufffd";
const SEED = "18446744073709551615";
const JOB = "1153341414652313613";
const KEYED = { ...env, ARK_API_KEY: "test-only-ark-key", KIE_API_KEY: "test-only-kie-key" };

function aRelayTo(host: string, answer: string): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(host, () => new Response(answer));
  return outside;
}

/** Returns the body of the one callback. It must be as strict parsers demand, and signed as it is. */
async function callbackBody(outside: Outside): Promise<unknown> {
  const [sent, ...others] = outside.sentTo(CALLBACK_URL);
  if (sent === undefined || others.length > 0) throw new Error(`${others.length + 1} callbacks`);
  const { body, headers } = sent;
  expect(body.isWellFormed()).toBe(true);
  expect(body).not.toMatch(/\\u(?:d[89a-f]|0000)/i);
  const { callbacks: secrets } = await secretsOf();
  expect(() => new Webhook(secrets[0] ?? "").verify(body, headers)).not.toThrow();
  return JSON.parse(body);
}

it("half an emoji and U+0000 in the texts and field names of an event are replaced by U+FFFD in the signed callback and in GET of the task", async () => {
  const outside = aRelayTo("https://nowhere.example.net", "");
  const [completed, failed] = [crypto.randomUUID(), crypto.randomUUID()];
  const metadata = JSON.stringify({ prompt: "ODD", nested: [{ ODD: "ODD" }] });
  const event = { model: "ODD", output: { urls: [`${VIDEO}?ODD`], metadata: "METADATA" } };
  const text = JSON.stringify(aCompletion(completed, { ...event, callback_url: CALLBACK_URL }))
    .replace('"METADATA"', metadata)
    .replaceAll("ODD", () => ODD);
  expect((await post("/v1/events", text)).status).toBe(202);
  await untilIdle(completed);
  const mended = {
    model: MENDED,
    output: {
      urls: [`${VIDEO}?${MENDED}`],
      metadata: { prompt: MENDED, nested: [{ [MENDED]: MENDED }] },
    },
  };
  expect(await callbackBody(outside)).toMatchObject(mended);
  expect(await read(completed)).toMatchObject(mended);

  const failure = JSON.stringify(aFailure(failed, { model: "m" }));
  expect(
    (
      await post(
        "/v1/events",
        failure.replace("Refused.", () => ODD),
      )
    ).status,
  ).toBe(202);
  expect(await read(failed)).toMatchObject({ error: { message: MENDED } });
});

it("half an emoji in the error of a poll response is replaced by U+FFFD in the signed callback", async () => {
  const outside = aRelayTo(
    "https://ark.",
    `{"id":"cgt-1","status":"failed","error":{"code":"InternalServiceError","message":"Cut: ${ODD}"}}`,
  );
  const task = await hooked({ provider: "ark", bindings: KEYED });
  await attach(task, "cgt-1");
  await wake(task.id, 300_000);
  await untilIdle(task.id);
  expect(await callbackBody(outside)).toMatchObject({ error: { message: `Cut: ${MENDED}` } });
});

it("a seed of 64 bits in a poll response comes as a text with all its digits in the metadata of the callback", async () => {
  const outside = aRelayTo(
    "https://ark.",
    `{"id":"cgt-1","status":"succeeded","content":{"video_url":"${VIDEO}"},"seed":${SEED}}`,
  );
  const task = await hooked({ provider: "ark", bindings: KEYED });
  await attach(task, "cgt-1");
  await wake(task.id, 300_000);
  await untilIdle(task.id);
  expect(await callbackBody(outside)).toMatchObject({ output: { metadata: { seed: SEED } } });
});

it("a seed of 64 bits is sent to the upstream exactly as submitted, and has all its digits in the metadata of the callback", async () => {
  const outside = aRelayTo(
    "https://ark.",
    `{"id":"cgt-1","status":"succeeded","content":{"video_url":"${VIDEO}"}}`,
  );
  const { id, headers } = named();
  const body = `{"model":"m", "content":[{"type":"text","text":"${ODD}"}], "seed":${SEED}, "ratio":"${ODD}"}`;
  await submit({ headers, body });
  expect(outside.sentTo("https://ark.")[0]?.body).toContain(body.slice(0, -1));
  await wake(id, 300_000);
  await untilIdle(id);
  expect(await callbackBody(outside)).toMatchObject({ output: { metadata: { seed: SEED } } });
});

it("an event's seed may be an integer of any length, and the same event with the seed as a text counts as a repetition", async () => {
  aRelayTo("https://nowhere.example.net", "");
  const id = await register();
  const event = JSON.stringify(aCompletion(id, { usage: { total: 1 } }));
  const withSeed = (seed: string) =>
    event
      .replace('"urls"', `"metadata":{"seed":${seed},"order":${JOB}},"urls"`)
      .replace('"total":1', `"total":${JOB}`);
  expect((await post("/v1/events", withSeed(SEED))).status).toBe(202);
  expect(await read(id)).toMatchObject({
    output: { metadata: { seed: SEED, order: JOB } },
    usage: { total: Number(JOB) },
  });
  expect((await post("/v1/events", withSeed(`"${SEED}"`))).status).toBe(200);
  expect((await post("/v1/events", withSeed(`${SEED.slice(0, -1)}6`))).status).toBe(409);
});

it("an amount in the usage of an event may be a text that is a number; any other text is refused", async () => {
  aRelayTo("https://nowhere.example.net", "");
  const id = await register();
  const event = (total: string) => aCompletion(id, { usage: { total } });
  const [refused, accepted] = [await report(event("many")), await report(event("108900"))];
  expect(await refusal(refused)).toEqual(invalid("/usage/total"));
  expect(accepted.status).toBe(202);
  expect(await read(id)).toMatchObject({ usage: { total: 108_900 } });
});

it("when the upstream states a job id of 19 digits as a number, the job is attached with all the digits of its id", async () => {
  const outside = aRelayTo("https://api.kie.ai/", `{"code":200,"data":{"taskId":${JOB}}}`);
  const { id, headers } = named();
  const path = "/v1/submit/kie/api/v1/jobs/createTask";
  const body = JSON.stringify({ model: "kling-2.6/text-to-video", input: { prompt: "a fox" } });
  const bindings = { ...BINDINGS, ...KEYED };
  const response = await submit({ path, headers, body, bindings });
  expect(response.status).toBe(200);
  expect(await readSubmitted(id, bindings)).toMatchObject({
    submission: { state: "accepted" },
    upstream: { id: JOB },
  });
  await wake(id, 300_000);
  expect(outside.sentTo("https://api.kie.ai/").map(({ url }) => url)).toContainEqual(
    expect.stringContaining(`taskId=${JOB}`),
  );
});

it("a registration with half an emoji in its parameters is stored with U+FFFD instead; one with half an emoji in its metadata is refused", async () => {
  aRelayTo("https://nowhere.example.net", "");
  const id = crypto.randomUUID();
  const body = (member: string) => `{"id":"${id}","model":"m","${member}":{"prompt":"${ODD}"}}`;
  const refused = await post("/v1/tasks", body("metadata"));
  const message = "must not contain a lone surrogate or U+0000";
  expect(await refused.json()).toMatchObject({ issues: [{ path: "/metadata", message }] });
  expect((await post("/v1/tasks", body("parameters"))).status).toBe(201);
  const registration = { parameters: { prompt: MENDED } };
  expect(await stored(id)).toMatchObject({ record: { registration } });
});

it("when the relay shortens an unknown state in a poll response inside an emoji, the operator sees no half of the emoji", async () => {
  const word = `${"x".repeat(31)}😀`;
  aRelayTo("https://ark.", JSON.stringify({ id: "cgt-1", status: word }));
  const task = await hooked({ provider: "ark", bindings: KEYED });
  await attach(task, "cgt-1");
  await wake(task.id, 300_000);
  expect(await readHooked(task)).toMatchObject({ tracking: { unclear: { word: "x".repeat(31) } } });
});

it("a submission is refused when its header Relay-Metadata contains half an emoji, and a number of 64 bits in this header keeps all its digits", async () => {
  aRelayTo("https://ark.", '{"id":"cgt-1"}');
  const odd = named({ "Relay-Metadata": `{"title":"${ODD}"}` });
  const message = "must not contain a lone surrogate or U+0000";
  const refused = await submit({ headers: odd.headers });
  expect(await refused.json()).toMatchObject({ issues: [{ path: "/Relay-Metadata", message }] });
  const { id, headers } = named({ "Relay-Metadata": `{"order":${JOB}}` });
  await submit({ headers });
  const answer = await callWith(BINDINGS, `/v1/tasks/${id}`);
  expect(await answer.json()).toMatchObject({ metadata: { order: JOB } });
});
