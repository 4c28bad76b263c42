import { expect, it, vi } from "vitest";
import { devDependencies } from "../../../package.json" with { type: "json" };
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { BROKEN, RelayFront, TlsFront } from "./relay-front.ts";
import {
  HAS_PYTHON,
  type KeyOwner,
  npmVersions,
  ownersOf,
  runBlock,
  sdkBlocks,
} from "./sdk-blocks.ts";
import { keyIn, LOST, SdkUpstream } from "./sdk-upstream.ts";

/** Time in milliseconds within which polls find the end of a job: the first is made after 4 s. */
const CALLED_BACK_WITHIN_MS = 60_000;
const RELAY_S_KEY = "process-test-sdk-key-of-the-relay";
const CUSTOMER_S_KEY = "process-test-sdk-key-of-a-customer";
const KEYS: Readonly<Record<KeyOwner, string>> = {
  connection: RELAY_S_KEY,
  customer: CUSTOMER_S_KEY,
};

const upstream = await forThisFile(SdkUpstream.start(RELAY_S_KEY, CUSTOMER_S_KEY));
const receiver = await forThisFile(Receiver.start());
const front = await forThisFile(RelayFront.start((): string => relay.url));
const vars = { ...LOCAL_VARS, ...upstream.varsWith(RELAY_S_KEY), PUBLIC_URL: front.origin };
const relay = await forThisFile(Workerd.start({ vars }));
const tls = HAS_PYTHON ? await forThisFile(TlsFront.start(front.origin)) : null;
const verify = await relay.client.verifier();

const BLOCKS = sdkBlocks().map((block, nth) => ({ ...block, nth }));

/** Runs a block of the page. @param name part of its prompt, its callback's path and its `Idempotency-Key`. */
async function run(block: (typeof BLOCKS)[number], owner: KeyOwner, name: string) {
  const path = `/${name}-${block.nth}-${owner}`;
  const idempotencyKey = path.slice(1);
  const prompt = `a fox that is ${name} (${idempotencyKey})`;
  const ended = await runBlock(block, owner, {
    relay: block.language.mark === "python" && tls !== null ? tls.origin : front.origin,
    callbackUrl: receiver.at(path, { kind: "answer", status: 200 }),
    idempotencyKey,
    prompt,
    env: {
      RELAY_KEY: OPERATOR_KEY,
      UPSTREAM_KEY: CUSTOMER_S_KEY,
      ...(tls !== null && { SSL_CERT_FILE: tls.certificate, REQUESTS_CA_BUNDLE: tls.certificate }),
    },
  });
  const submitted = upstream.submitted(block.connection, prompt);
  return { ...ended, path, idempotencyKey, prompt, submitted };
}
const RUNS = BLOCKS.flatMap((block) => ownersOf(block).map((owner) => ({ ...block, owner })));

it.concurrent.each(RUNS)(
  "$sdk, used as docs/sdks.md shows with the key of the $owner, gets the output of its job at $connection through the relay, and a signed callback has it too",
  async ({ owner, ...block }) => {
    const { output, path, prompt, submitted } = await run(block, owner, "submitted");
    const job = upstream.jobOf(block.connection, prompt);
    expect(output).toContain(job.output);
    expect(submitted.map(keyIn)).toEqual([KEYS[owner]]);
    expect(JSON.stringify([submitted, upstream.about(job)])).not.toContain(OPERATOR_KEY);
    await vi.waitUntil(() => receiver.postsAt(path).length > 0, CALLED_BACK_WITHIN_MS);
    const [callback] = receiver.postsAt(path);
    expect(callback && verify(callback)).toMatchObject({
      status: "completed",
      output: { urls: [job.output] },
    });
  },
);

it.concurrent.each(BLOCKS)(
  "when its connection to the relay breaks, $sdk repeats a call for $connection $repetitions times with one Idempotency-Key, and one job is submitted",
  async (block) => {
    const { isDone, idempotencyKey, submitted } = await run(block, "connection", BROKEN);
    expect(isDone).toBe(false);
    expect(front.countOf(idempotencyKey)).toBe(1 + block.repetitions);
    expect(submitted.length).toBe(1);
  },
);

it.concurrent.each(BLOCKS)(
  "when it is unknown whether a call for $connection started a job, $sdk throws the relay's 424 and does not repeat the call",
  async (block) => {
    const { isDone, output, idempotencyKey } = await run(block, "connection", LOST);
    expect([isDone, output]).toEqual([false, expect.stringMatching(/\b424\b/)]);
    expect(front.countOf(idempotencyKey)).toBe(1);
  },
);

it("the versions of npm packages that docs/sdks.md states are those with which the tests run its code blocks", () => {
  const stated = npmVersions();
  expect(Object.keys(stated).length).toBeGreaterThan(0);
  expect(devDependencies).toMatchObject(stated);
});
