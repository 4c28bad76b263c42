import { expect, it } from "vitest";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { launchChromium } from "./chromium.ts";
import { Tab } from "./tab.ts";

const HOSTILE = `<!doctype html>
<script src="/script.js"></script><script>console.log("inline")</script>
<img src="https://elsewhere.invalid/pixel.png">`;

it("a browser test fails when its page has errors in the console, exceptions, CSP violations or requests to other origins, except those that the test expects", async () => {
  const server = new LoopbackServer((request, response) => {
    response.setHeader("Content-Security-Policy", "script-src 'self'");
    if (request.url === "/") response.setHeader("Content-Type", "text/html").end(HOSTILE);
    else response.end('console.error("wrong"); console.error("meant"); throw new Error("thrown");');
  });
  await using _ = await server.listen();
  const tab = await Tab.open(server.origin, { expected: [/meant/] });
  await tab.page.goto("/");
  const kinds = tab.troubles.map((trouble) => /^.*?(?=: )/.exec(trouble)?.[0]);
  expect(new Set(kinds)).toEqual(
    new Set([
      "console error",
      "uncaught",
      "off-origin request",
      "violates the Content-Security-Policy",
    ]),
  );
  expect(tab.troubles.join("\n")).not.toContain("meant");
  await expect(tab[Symbol.asyncDispose]()).rejects.toThrow("elsewhere.invalid/pixel.png");
});

it("when no browser can be started, the browser tests fail with a message that says how to get one", async () => {
  const missing = launchChromium([["CHROMIUM", async () => ({ executablePath: "/nowhere" })]]);
  await expect(missing).rejects.toThrow(
    /^no browser starts\. npm ci installs a Chromium .*\nCHROMIUM: /s,
  );
});
