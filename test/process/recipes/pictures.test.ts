import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { answering, realBody } from "./real-bodies.ts";
import { codeOf } from "./recipe-pages.ts";

const WITHIN = { timeout: 30_000 };
const GENERATIONS = "/v1/images/generations";
/** Time that the gateway takes for a picture. */
const SLOW_MS = 1_000;
const Body = z.looseObject({ data: z.tuple([z.object({ b64_json: z.base64() })]) });

const gateway = await forThisFile(Receiver.start());
const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS, hasOutputs: true }));
const newapi = { NEWAPI_API_KEY: "sk-key", NEWAPI_BASE_URL: gateway.origin };
await relay.restart({ ...LOCAL_VARS, ...newapi, PUBLIC_URL: relay.url });

/** Returns a directory for one test, with the program of the recipe. */
function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-pictures-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "pictures.mjs"), codeOf("pictures", "pictures.mjs"));
  return directory;
}

/** Starts the program in a directory with these prompts. */
function started(directory: string, ...prompts: readonly string[]) {
  writeFileSync(join(directory, "prompts.txt"), `${prompts.join("\n")}\n`);
  const env = { ...process.env, RELAY_URL: relay.url, RELAY_KEY: OPERATOR_KEY };
  return spawn(process.execPath, ["pictures.mjs"], { cwd: directory, env, stdio: "pipe" });
}

it("the program of docs/recipes/pictures.md, killed while the gateway draws and started again, writes a file for each prompt, and each call was made once", async () => {
  const directory = newDirectory();
  const { body } = realBody("newapi", "images-base64-usage");
  gateway.at(GENERATIONS, { ...answering(body), afterMs: SLOW_MS });
  const before = gateway.posts.length;
  const killed = started(directory, "a fox", "a hare");
  await expect.poll(() => gateway.posts.length - before, WITHIN).toBe(2);
  killed.kill("SIGKILL");
  await once(killed, "exit");
  expect(existsSync(join(directory, "1.png"))).toBe(false);

  expect(await once(started(directory, "a fox", "a hare"), "exit")).toEqual([0, null]);
  const picture = Buffer.from(Body.parse(body).data[0].b64_json, "base64");
  for (const file of ["1.png", "2.png"]) {
    expect(readFileSync(join(directory, file)).equals(picture)).toBe(true);
  }
  expect(gateway.posts.length - before).toBe(2);
});

it("the program of docs/recipes/pictures.md names a picture that the gateway refuses, with the gateway's reason, and exits with 1", async () => {
  const refusal = { error: { message: "prompt is not allowed", code: "content_policy" } };
  gateway.at(GENERATIONS, answering(refusal, 400));
  const program = started(newDirectory(), "a bear");
  const errors: string[] = [];
  program.stderr.on("data", (chunk) => errors.push(String(chunk)));
  expect(await once(program, "close")).toEqual([1, null]);
  expect(errors.join("")).toMatch(/^1\.png: 400 .*prompt is not allowed/);
});
