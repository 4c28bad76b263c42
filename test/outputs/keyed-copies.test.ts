import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { sealKey } from "../../src/security/sealed-key.ts";
import { ORIGIN } from "../worker/client.ts";
import { DAY_MS, START, useClock } from "../worker/clock.ts";
import { answering } from "../worker/outside.ts";
import { started } from "../worker/started.ts";
import { anUpstream, copiesOf, copierOf, copy, keyOf, sending, VIDEO_BYTES } from "./copied.ts";
import { aKeyedTask, GATEWAY, KEY, KEYED, WITH_BUCKET } from "./keyed.ts";
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

it("an output that opens only with the key of its gateway is copied with this key, which is not sent to where the link redirects", async () => {
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
  ["on the gateway, which opens only with a key", KEYED, "Bearer sk-test-only-customer"],
  ["on another host", `https://cdn.example.org/v1/videos/video_1/content`, undefined],
])(
  "the output %s, of a job that was submitted with a customer's key, is fetched with this key where it needs one",
  async (_, source, authorization) => {
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
      origin: ORIGIN,
      connection,
      customerKey,
      outputs,
    });
    await copy(taskId);
    const sent = upstream.sentTo(source).map(({ headers }) => headers["authorization"]);
    expect(sent).toEqual([authorization]);
  },
);
