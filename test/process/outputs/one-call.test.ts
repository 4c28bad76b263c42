import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { FakeArk, PROMPT_CONDUCT } from "../submit/fake-ark.ts";
import { OutputSource, videoBytes } from "./output-source.ts";

const run = promisify(execFile);

const CALL = `
curl -sS $relay/v1/submit/ark/contents/generations/tasks -H "Authorization: Bearer $RELAY_KEY" \\
  -H "Relay-Callback-Url: $callback_url" \\
  -d '{"model": "doubao-seedance-2-0-260128", "content": [{"type": "text", "text": "a fox"}]}'`;

const Callback = z.looseObject({
  id: z.string(),
  output: z.looseObject({ urls: z.tuple([z.string()]) }),
});
const Read = z.looseObject({ outputs: z.tuple([z.looseObject({ kept: z.boolean() })]) });

it("one call of curl leads to a callback whose link opens the output, whole or in part, even after Ark's own link has expired", async () => {
  await using source = await OutputSource.start();
  const bytes = videoBytes("fox", 300_000);
  const file = source.serve("/fox.mp4", { bytes, isLengthStated: true, firstAnswer: "whole" });
  await using ark = await FakeArk.start(
    () => PROMPT_CONDUCT,
    () => file,
  );
  await using receiver = await Receiver.start();
  await using relay = await WranglerDev.start({
    vars: (url) => ({ ...LOCAL_VARS, ...ark.vars, PUBLIC_URL: url }),
    hasIndex: false,
    hasOutputs: true,
  });
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 200 });
  const variables = { relay: relay.url, RELAY_KEY: OPERATOR_KEY, callback_url: callbackUrl };
  await run("bash", ["-c", CALL], { env: { ...process.env, ...variables } });

  await vi.waitUntil(() => receiver.posts.length > 0, 60_000);
  const [callback] = receiver.posts;
  const { id, output } = Callback.parse(JSON.parse(callback?.body ?? ""));
  await vi.waitUntil(
    async () => {
      const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
      return Read.parse(json).outputs[0].kept;
    },
    { timeout: 60_000, interval: 200 },
  );
  source.isDead = true;
  const [link] = output.urls;
  expect(link.startsWith(`${relay.url}/outputs/${id}/1/`)).toBe(true);
  expect((await fetch(file)).status).toBe(404);
  const whole = await fetch(link);
  expect([whole.status, whole.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
  expect(Buffer.compare(Buffer.from(await whole.arrayBuffer()), bytes)).toBe(0);
  const part = await fetch(link, { headers: { Range: "bytes=100000-100009" } });
  expect([part.status, part.headers.get("Content-Range")]).toEqual([
    206,
    `bytes 100000-100009/${bytes.length}`,
  ]);
  expect(Buffer.from(await part.arrayBuffer())).toEqual(Buffer.from(bytes.subarray(1e5, 1e5 + 10)));
});
