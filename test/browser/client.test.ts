import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { EXPECTED } from "../process/client/expected.ts";
import type { ScenarioInput } from "../process/client/scenario.ts";
import { scenarioInput } from "../process/client/scenario-input.ts";
import { ROOT } from "../process/harness/child.ts";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { forThisFile } from "../process/harness/for-this-file.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { startRelay } from "../process/harness/relay.ts";
import { openPage } from "./browser.ts";

const vars = { ...LOCAL_VARS, SANDBOX: "true", FAL_KEY: "browser-test-fal-key" };
const relay = await forThisFile(startRelay({ vars }));
const receiver = await forThisFile(Receiver.start());

it("in Chromium, a page that loads the relay's client registers, reports, awaits and cancels tasks of a running relay, and verifies callbacks", async () => {
  const input = await scenarioInput(relay, receiver);
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "test/process/client/scenario.ts")],
    bundle: true,
    format: "iife",
    globalName: "scenario",
    alias: {
      "task-relay-client/ai-sdk": join(ROOT, "client/src/ai-sdk.ts"),
      "task-relay-client/sdk-fetch": join(ROOT, "client/src/sdk-fetch.ts"),
      "task-relay-client": join(ROOT, "client/src/index.ts"),
    },
    write: false,
  });
  const page = await openPage(relay.url, { expected: [/status of 404/] });
  const contentType = "text/html";
  await page.route("**/page-of-the-client", (route) => route.fulfill({ contentType, body: "" }));
  await page.goto("/page-of-the-client");
  await page.addScriptTag({ content: outputFiles[0]?.text ?? "" });
  const seen = await page.evaluate(
    (given: ScenarioInput): Promise<unknown> => Reflect.get(globalThis, "scenario").drive(given),
    input,
  );
  expect(seen).toEqual(EXPECTED);
});
