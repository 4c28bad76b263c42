import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { Child } from "../harness/child.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, freePort, LoopbackServer } from "../harness/loopback.ts";
import { Checkout, newcomersEnvironment } from "../readme/checkout.ts";
import { pageScript, unmetExpectations } from "../readme/page-script.ts";
import { shellBlocks } from "../readme/shell-blocks.ts";

const run = promisify(execFile);
const PAGE = "src/providers/generic/upstreams/openai/README.md";
const DECLARATION = "src/providers/generic/upstreams/openai/openai.json";
const KEY = "sk-process-test-openai-key";
/** All times are a tenth of those with the real OpenAI, which takes 150 s for a picture at worst. */
const PICTURE_AFTER_MS = 15_000;
const TIMES = ["--var", "SUBMIT_TIMEOUT_S:9", "--var", "ASYNC_TIMEOUT_S:60"];
/** Ends the script once the receiver has printed a callback. */
const UNTIL_CALLED_BACK =
  "timeout 60 bash -c 'until grep -q outputs/ .servers; do sleep 0.2; done'";

/** OpenAI's calls for images on a loopback port, answered as slowly as by the real one. */
class FakeOpenAi extends LoopbackServer {
  readonly picture = Buffer.concat([
    Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"),
    randomBytes(1_500_000),
  ]);
  calls = 0;

  private constructor() {
    super(async (request, response) => {
      await bodyOf(request);
      const isKnown = request.headers.authorization === `Bearer ${KEY}`;
      if (!isKnown || request.url !== "/v1/images/generations") {
        return void response.writeHead(401).end();
      }
      this.calls += 1;
      const data = [{ b64_json: this.picture.toString("base64") }];
      const answer = { created: 1_790_000_000, data, output_format: "png", quality: "high" };
      setTimeout(() => {
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify(answer));
      }, PICTURE_AFTER_MS);
    });
  }

  static async start(): Promise<FakeOpenAi> {
    return new FakeOpenAi().listen();
  }
}

const openai = await forThisFile(FakeOpenAi.start());
const clone = new Checkout();
const addresses = {
  relay: await freePort(),
  receiver: await freePort(),
  ownReceiver: await freePort(),
};
let relay: Child | null = null;

afterAll(async () => {
  await relay?.kill9();
  clone[Symbol.dispose]();
});

it("the commands on OpenAI's page lead from a fresh clone to a callback whose link opens a picture that OpenAI has sent in base64 long after the time for callers who wait", async () => {
  const [first, ...others] = shellBlocks(PAGE).filter(({ code }) => !code.includes("$relay"));
  const env = { ...newcomersEnvironment(), OPENAI_API_KEY: KEY };
  const declaration = join(clone.directory, DECLARATION);
  const text = readFileSync(declaration, "utf8");
  writeFileSync(declaration, text.replace("https://api.openai.com", openai.origin));
  clone.run(pageScript(first === undefined ? [] : [first], addresses), env);

  const options = ["--port", String(addresses.relay), "--inspector-port", "0", ...TIMES];
  const vars = ["--var", "ALLOW_LOCAL_CALLBACKS:true"];
  const args = ["--prefix", clone.directory, "start", "--", ...options, ...vars];
  relay = new Child("npm", args, env);
  await relay.answering(`http://localhost:${addresses.relay}/healthz`);
  const script = `${pageScript(others, addresses)}\n${UNTIL_CALLED_BACK}`;
  // Not by `clone.run`, during which this process could not answer for OpenAI.
  const { stdout: output } = await run("bash", ["-euo", "pipefail", "-c", script], {
    cwd: clone.directory,
    env,
  });

  expect(unmetExpectations(output), output).toEqual([]);
  expect(openai.calls).toBe(1);
  const [link = ""] = /http:\/\/localhost:\d+\/outputs\/[^"\s]+/.exec(output) ?? [];
  expect(output).toMatch(/signature.*valid/i);
  const picture = Buffer.from(await (await fetch(link)).arrayBuffer());
  expect(picture.equals(openai.picture)).toBe(true);
});
