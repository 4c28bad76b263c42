import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const PUBLIC = join(ROOT, "public");
/** Paths of all files but the operator's own, which are in `brand`. */
const FILES = readdirSync(PUBLIC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name !== "_headers")
  .map(({ parentPath, name }) => join(parentPath, name).slice(PUBLIC.length))
  .filter((path) => !path.startsWith("/brand/"));
/** Paths of the files; a page has that of its file without `.html`. */
const PATHS = FILES.map((file) => file.replace(/\.html$/, ""));
/** Headers of the platform or of the connection, which say nothing of the file. */
const OTHERS = ["cf-cache-status", "connection", "content-length", "date", "transfer-encoding"];

const workerd = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));
const wrangler = await forThisFile(WranglerDev.start({ vars: LOCAL_VARS }));
const RELAYS = [workerd, wrangler] as const;

/** Requests a file, or a path that is none, without compression. */
async function ask(relay: { readonly url: string }, path: string, init: RequestInit = {}) {
  const headers = {
    "Accept-Encoding": "identity",
    ...Object.fromEntries(new Headers(init.headers)),
  };
  const answer = await fetch(`${relay.url}${path}`, { redirect: "manual", ...init, headers });
  const text = await answer.text();
  const named = [...answer.headers].filter(([name]) => !OTHERS.includes(name));
  return { status: answer.status, text, headers: Object.fromEntries(named) };
}

/** What an answer says of a file besides the tag of its version, which each platform makes in its own way. */
const withoutTag = ({
  headers: { etag, ...headers },
  ...answer
}: Awaited<ReturnType<typeof ask>>) => ({
  ...answer,
  headers,
  isTagged: etag !== undefined,
});

it("the folder public contains the API reference, the API description, the page of errors and the files that these pages load, and nothing else", () => {
  expect(FILES.toSorted()).toEqual([
    "/assets/console.css",
    "/assets/console.js",
    "/assets/icon.svg",
    "/assets/idiomorph.js",
    "/assets/lists.js",
    "/assets/reference.js",
    "/assets/refresh.js",
    "/assets/theme.js",
    "/docs.html",
    "/docs/errors.html",
    "/openapi.json",
  ]);
});

it.each(PATHS.flatMap((path) => ["GET", "HEAD", "POST"].map((method) => [method, path] as const)))(
  "%s %s has the same status, headers and body on plain workerd as on wrangler dev",
  async (method, path) => {
    const [own, platform] = await Promise.all(RELAYS.map((relay) => ask(relay, path, { method })));
    expect(own && withoutTag(own)).toEqual(platform && withoutTag(platform));
    expect(own?.status).toBe(method === "POST" ? 405 : 200);
  },
);

it.each(PATHS)(
  "plain workerd and wrangler dev answer %s with 304 to a browser whose If-None-Match has the current ETag, strong or weak",
  async (path) => {
    for (const relay of RELAYS) {
      const { headers } = await ask(relay, path);
      const tag = headers["etag"] ?? "";
      expect(tag).toMatch(/^"[\w-]+"$/);
      for (const known of [tag, `W/${tag}`]) {
        const again = await ask(relay, path, { headers: { "If-None-Match": known } });
        expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", tag]);
        expect(again.headers["cache-control"]).toBe("no-cache");
      }
      expect((await ask(relay, path, { headers: { "If-None-Match": '"other"' } })).status).toBe(
        200,
      );
    }
  },
);

it.each([
  "/_headers",
  "/assets",
  "/assets/",
  "/assets/.hidden",
  "/assets/.hidden.js",
  "/assets/nothing.js",
  "/assets/%2e%2e/_headers",
  "/docs/nothing",
  "/.git/config",
])(
  "%s is no file, so the relay itself answers 404 for it, on plain workerd and on wrangler dev",
  async (path) => {
    for (const relay of RELAYS) {
      const { status, headers } = await ask(relay, path);
      expect([status, headers["x-request-id"] === undefined]).toEqual([404, false]);
    }
  },
);

it("plain workerd compresses a file for a browser that accepts gzip, and sends it with a weak ETag", async () => {
  const { headers, status, text } = await ask(workerd, "/docs", {
    headers: { "Accept-Encoding": "br, gzip" },
  });
  expect([status, headers["content-encoding"], headers["vary"]]).toEqual([
    200,
    "gzip",
    "Accept-Encoding",
  ]);
  expect(headers["etag"]).toMatch(/^W\/"/);
  expect(text).toContain("API reference");
});
