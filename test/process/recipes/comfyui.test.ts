import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import * as z from "zod";
import comfyui from "../../../src/providers/generic/upstreams/comfyui/comfyui.json" with { type: "json" };
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { answering, realBody } from "./real-bodies.ts";
import { codeOf, jsonOf } from "./recipe-pages.ts";

const WITHIN = { timeout: 30_000 };
const PUBLIC_URL = "https://relay.example.com";
const PICTURE = Buffer.from(`\u0089PNG\r\n\u001a\n${"p".repeat(3_000)}`, "latin1");
/** The nodes of ComfyUI's default workflow that the recipe changes. */
const WORKFLOW = {
  3: { class_type: "KSampler", inputs: { seed: 156680208700286, steps: 20 } },
  6: { class_type: "CLIPTextEncode", inputs: { text: "", clip: ["4", 1] } },
};
const Callback = z.looseObject({ output: z.looseObject({ urls: z.tuple([z.string()]) }) });
const Submitted = z.object({
  prompt: z.object({
    3: z.looseObject({ inputs: z.looseObject({ seed: z.int() }) }),
    6: z.looseObject({ inputs: z.looseObject({ text: z.literal("a fox") }) }),
  }),
});

const comfy = await forThisFile(Receiver.start());
const receiver = await forThisFile(Receiver.start());
const members = z.looseObject({ outputs_need_key: z.literal(true) }).parse(jsonOf("comfyui"));
const connection = { ...comfyui, ...members, base_url: comfy.origin };
const vars = { ...LOCAL_VARS, PUBLIC_URL, CONNECTIONS: JSON.stringify({ comfyui: connection }) };
const relay = await forThisFile(Workerd.start({ vars }));
const directory = mkdtempSync(join(tmpdir(), "task-relay-comfyui-"));
afterAll(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, "workflow.json"), JSON.stringify(WORKFLOW));
writeFileSync(join(directory, "order.mjs"), codeOf("comfyui", "order.mjs"));

it("the program of docs/recipes/comfyui.md orders a picture with its text and a new seed, and the callback has a link of the relay that passes ComfyUI's file on, without a bucket", async () => {
  const { job, body } = realBody("generic/upstreams/comfyui", "success-image-with-meta");
  comfy.at("/prompt", answering({ prompt_id: job, number: 1, node_errors: {} }));
  comfy.at(`/history/${job}`, answering(body));
  const view = "/view?filename=ArcReel_00001_.png&subfolder=&type=output";
  comfy.at(view, { kind: "answer", status: 200, body: PICTURE });
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 204 });
  const env = { RELAY_URL: relay.url, RELAY_KEY: OPERATOR_KEY, CALLBACK_URL: callbackUrl };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["order.mjs", "order-1042", "a fox"],
    { cwd: directory, env: { ...process.env, ...env } },
  );
  expect(stdout).toMatch(/^202 /);
  await expect.poll(() => receiver.postsAt("/hook").length, WITHIN).toBe(1);

  const [submitted] = comfy.postsAt("/prompt");
  const { prompt } = Submitted.parse(JSON.parse(submitted?.body ?? ""));
  expect(prompt[3].inputs.seed).not.toBe(WORKFLOW[3].inputs.seed);
  const verify = await relay.client.verifier();
  const [post] = receiver.postsAt("/hook");
  const [link] = Callback.parse(post && verify(post)).output.urls;
  expect(link.startsWith(`${PUBLIC_URL}/outputs/`)).toBe(true);
  const picture = await fetch(link.replace(PUBLIC_URL, relay.url));
  expect(picture.headers.get("Content-Type")).toBe("image/png");
  expect(Buffer.from(await picture.arrayBuffer()).equals(PICTURE)).toBe(true);
});
