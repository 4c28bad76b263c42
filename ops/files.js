// Answers the files of `public` on plain workerd as Cloudflare answers them without the Worker (`[assets]` in
// wrangler.toml), and hands all other requests to the relay. ops/workerd.capnp names the modules and the binding.
import headersFile from "_headers";
import relay from "index.js";

export * from "index.js";

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  webp: "image/webp",
};

/** The rules of `_headers`: the path of a file, or the beginning of the paths of several, and their headers. */
const RULES = headersFile.split("\n\n").map((rule) => {
  const [path = "", ...lines] = rule.trim().split("\n");
  const headers = lines.map((line) => /^ *([\w-]+): (.*)$/.exec(line)?.slice(1) ?? []);
  return { start: path.replace(/\*$/, ""), isExact: !path.endsWith("*"), headers };
});

/** Path of a file, with its ending; that of a page has none. No part of it begins with a dot. */
const FILE_PATH = /^(?:\/[\w-]+)+(?:\.(\w+))?$/;

export default {
  ...relay,
  /** @type {(request: Request, env: { FILES: Fetcher }, ctx: ExecutionContext) => Promise<Response>} */
  async fetch(request, env, ctx) {
    const path = URL.parse(request.url)?.pathname ?? "";
    const rule = RULES.find(({ start, isExact }) =>
      isExact ? path === start : path.startsWith(start),
    );
    const file = rule === undefined ? null : await fileAt(path, env.FILES);
    if (rule === undefined || file === null) return relay.fetch(request, env, ctx);
    const answer = await answerTo(request, file);
    for (const [name = "", value = ""] of rule.headers) answer.headers.set(name, value);
    return answer;
  },
};

/** @type {(path: string, files: Fetcher) => Promise<{ bytes: ArrayBuffer, type: string } | null>} */
async function fileAt(path, files) {
  const [found, ending] = FILE_PATH.exec(path) ?? [];
  const type = TYPES[ending ?? "html"];
  if (found === undefined || type === undefined) return null;
  const file = await files.fetch(`http://files${ending === undefined ? `${path}.html` : path}`);
  return file.ok ? { bytes: await file.arrayBuffer(), type } : null;
}

/** @type {(request: Request, file: { bytes: ArrayBuffer, type: string }) => Promise<Response>} */
async function answerTo({ method, headers }, { bytes, type }) {
  if (method !== "GET" && method !== "HEAD") return new Response(null, { status: 405 });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).slice(0, 16);
  const tag = `"${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
  const known = { ETag: tag, "Content-Type": type };
  const isCurrent = headers.get("If-None-Match")?.replace("W/", "") === tag;
  if (isCurrent) return new Response(null, { status: 304, headers: known });
  const body = method === "HEAD" ? null : bytes;
  const acceptsGzip = /\bgzip\b/.test(headers.get("Accept-Encoding") ?? "");
  if (!acceptsGzip) return new Response(body, { headers: known });
  // workerd compresses what has this header.
  const zipped = { ETag: `W/${tag}`, "Content-Encoding": "gzip", Vary: "Accept-Encoding" };
  return new Response(body, { headers: { ...known, ...zipped } });
}
