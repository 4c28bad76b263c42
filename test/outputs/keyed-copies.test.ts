import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { sealKey } from "../../src/security/sealed-key.ts";
import { callWith, ORIGIN } from "../worker/client.ts";
import { DAY_MS, START, useClock } from "../worker/clock.ts";
import { hooked } from "../worker/hooked.ts";
import { untilIdle } from "../worker/objects.ts";
import { answering } from "../worker/outside.ts";
import { started } from "../worker/started.ts";
import {
  anUpstream,
  copiesOf,
  copierOf,
  copy,
  keyOf,
  pathOfLink,
  readCopied,
  sending,
  VIDEO_BYTES,
} from "./copied.ts";
import { aKeyedTask, GATEWAY, KEY, KEYED, WITH_BUCKET, WITHOUT_BUCKET } from "./keyed.ts";
import { bytesIn, openWith } from "./linked.ts";

useClock();

const MEDIA = "https://media.example.net/a.mp4";

/** Gives the object that copies the outputs of a task the bindings of a relay with a gateway. */
async function bindGateway(id: string) {
  const value = await started(WITH_BUCKET);
  await runInDurableObject(copierOf(id), (instance) => {
    Object.defineProperty(instance, "env", { value });
  });
  return value;
}

it("to copy an output that opens only with a gateway's key, the relay sends this key to the gateway, but not to the host to which the gateway redirects", async () => {
  const { id, link, upstream } = await aKeyedTask(
    answering(null, 302, { Location: MEDIA }),
    WITH_BUCKET,
  );
  upstream.on(MEDIA, sending(VIDEO_BYTES));
  await bindGateway(id);
  await copy(id);
  expect(await copiesOf(id)).toEqual([[keyOf(id), VIDEO_BYTES.length]]);
  const [asked] = upstream.sentTo(KEYED);
  expect(asked?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  const [redirected] = upstream.sentTo(MEDIA);
  expect(redirected).toBeDefined();
  expect(Object.keys(redirected?.headers ?? {})).not.toContain("authorization");

  upstream.on(GATEWAY, answering(null, 404));
  expect(await bytesIn(await openWith(WITH_BUCKET, link))).toEqual(VIDEO_BYTES);
});

it.each([
  [
    "sends this key to the gateway when the gateway itself has stated the output's link",
    KEYED,
    {},
    "Bearer sk-test-only-customer",
  ],
  [
    "sends no key when the output's link leads to another host",
    `https://cdn.example.org/v1/videos/video_1/content`,
    {},
    undefined,
  ],
  [
    "sends no key when somebody other than the gateway has stated the output's link",
    KEYED,
    { isUnproven: true },
    undefined,
  ],
] as const)(
  "to fetch an output of a job that was submitted with a customer's key, the relay %s",
  async (_, source, proof, authorization) => {
    const upstream = anUpstream(sending(VIDEO_BYTES));
    upstream.on(source, sending(VIDEO_BYTES));
    const taskId = crypto.randomUUID();
    const { startup } = await bindGateway(taskId);
    if (!startup.runtime.ok) throw new Error("the configuration is not valid");
    const connection = "openai-videos";
    const { sealingKeys } = startup.runtime.value.keyring;
    const key = "sk-test-only-customer";
    const customerKey = await sealKey(key, { taskId, connection }, sealingKeys);
    const life = { recordedAt: START, expiresAt: START + DAY_MS };
    const outputs = [{ number: 1, source }];
    await copierOf(taskId).copy({
      taskId,
      ...life,
      account: null,
      origin: ORIGIN,
      connection,
      customerKey,
      outputs,
      deleted: [],
      ...proof,
    });
    await copy(taskId);
    const sent = upstream.sentTo(source).map(({ headers }) => headers["authorization"]);
    expect(sent).toEqual([authorization]);
  },
);

describe("a link to the gateway that opens only with the gateway's key, and that only an event has reported", () => {
  const secret = `${GATEWAY}/v1/videos/of-somebody-else/content`;

  it.each([
    ["with a bucket", WITH_BUCKET],
    ["without a bucket", WITHOUT_BUCKET],
  ])(
    "when an event, and not the gateway, has stated an output's link that opens only with the gateway's key, a relay %s does not fetch the link, and shows it unchanged in the task",
    async (_, bindings) => {
      const upstream = anUpstream(sending(VIDEO_BYTES));
      upstream.on(GATEWAY, sending(VIDEO_BYTES));
      const { id } = await hooked({ provider: "openai-videos", bindings });
      const body = { id, status: "completed", output: { urls: [secret] } };
      expect((await callWith(bindings, "/v1/events", { body })).status).toBe(202);
      await untilIdle(id);
      const task = await (await callWith(bindings, `/v1/tasks/${id}`)).json();
      expect(task).toMatchObject({ output: { urls: [secret] } });
      expect(task).not.toHaveProperty("outputs");
      expect(upstream.sentTo(GATEWAY)).toEqual([]);
    },
  );

  it("when an event has stated an output's link to a gateway that is configured only later, the relay's link redirects to that link, and the relay does not fetch it", async () => {
    const upstream = anUpstream(sending(VIDEO_BYTES));
    upstream.on(GATEWAY, sending(VIDEO_BYTES));
    const elsewhere = { ...WITH_BUCKET, OPENAI_VIDEOS_BASE_URL: "https://videos.example.com" };
    const { id } = await hooked({ provider: "openai-videos", bindings: elsewhere });
    const body = { id, status: "completed", output: { urls: [secret] } };
    expect((await callWith(elsewhere, "/v1/events", { body })).status).toBe(202);
    await untilIdle(id);
    const { output } = await readCopied(id);
    const response = await openWith(WITH_BUCKET, pathOfLink(output.urls[0] ?? ""));
    expect([response.status, response.headers.get("Location")]).toEqual([302, secret]);
    expect(upstream.sentTo(secret)).toEqual([]);
  });
});
