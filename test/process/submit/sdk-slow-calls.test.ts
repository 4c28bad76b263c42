import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { FakeGateway, PICTURE } from "../new-api/fake-gateway.ts";
import { TlsFront } from "./relay-front.ts";
import { callBlocks, HAS_PYTHON, type KeyOwner, ownersOf, runBlock } from "./sdk-blocks.ts";

const CALLED_BACK_WITHIN_MS = 30_000;
const KEYS: Readonly<Record<KeyOwner, string>> = {
  connection: "process-test-key-of-the-relay",
  customer: "process-test-key-of-a-customer",
};

const gateway = await forThisFile(
  FakeGateway.start({ [KEYS.connection]: "relay", [KEYS.customer]: "customer" }),
);
const receiver = await forThisFile(Receiver.start());
const relay = await forThisFile(
  WranglerDev.start({
    vars: (url) => ({
      ...LOCAL_VARS,
      PUBLIC_URL: url,
      NEWAPI_API_KEY: KEYS.connection,
      NEWAPI_BASE_URL: gateway.origin,
      OPENAI_VIDEOS_API_KEY: KEYS.connection,
      OPENAI_VIDEOS_BASE_URL: gateway.origin,
    }),
    hasIndex: false,
    hasOutputs: true,
  }),
);
const tls = HAS_PYTHON ? await forThisFile(TlsFront.start(relay.url)) : null;
const verify = await relay.client.verifier();

const RUNS = callBlocks().flatMap((block, nth) =>
  ownersOf(block).map((owner) => ({ ...block, owner, name: `later-${nth}-${owner}` })),
);
const Callback = z.looseObject({ output: z.looseObject({ urls: z.tuple([z.string()]) }) });

it.concurrent.each(RUNS)(
  "$sdk, used without waiting as docs/sdks.md shows with the key of the $owner, gets the link of the picture at $connection from /answer, and a signed callback has it too",
  async ({ owner, name, ...block }) => {
    const isPython = block.language.mark === "python" && tls !== null;
    const prompt = `a fox that is ${name}`;
    const { output } = await runBlock(block, owner, {
      relay: isPython ? tls.origin : relay.url,
      callbackUrl: receiver.at(`/${name}`, { kind: "answer", status: 200 }),
      idempotencyKey: name,
      prompt,
      env: {
        RELAY_KEY: OPERATOR_KEY,
        UPSTREAM_KEY: KEYS.customer,
        ...(isPython && { SSL_CERT_FILE: tls.certificate }),
      },
    });
    await vi.waitUntil(() => receiver.postsAt(`/${name}`).length > 0, CALLED_BACK_WITHIN_MS);
    const [callback] = receiver.postsAt(`/${name}`);
    const [link] = Callback.parse(callback && verify(callback)).output.urls;
    expect(output.trim()).toBe(link);
    const picture = Buffer.from(await (await fetch(link)).arrayBuffer());
    expect(picture.equals(PICTURE)).toBe(true);
    const calls = gateway.submissionsOf(prompt);
    expect(calls.map(({ key }) => key)).toEqual([KEYS[owner]]);
  },
);

it("docs/sdks.md shows a call without waiting in JavaScript for both kinds of gateways", () => {
  const shown = RUNS.filter(({ language }) => language.mark === "js");
  expect(new Set(shown.map(({ connection }) => connection))).toEqual(
    new Set(["newapi", "openai-videos"]),
  );
});
