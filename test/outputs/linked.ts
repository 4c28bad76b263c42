import { exports } from "cloudflare:workers";
import { conforming } from "../description/conforms.ts";
import { answerTo, aRequest } from "../worker/client.ts";
import { pathOfLink, readCopied } from "./copied.ts";

type Headers = Readonly<Record<string, string>>;

/** Returns the path of the link to an output of a task, as the operator reads it. */
export async function linkOf(id: string, number = 1): Promise<string> {
  const { output } = await readCopied(id);
  return pathOfLink(output.urls[number - 1] ?? "");
}

/** Opens a link without a key and follows no redirect. Fails when the answer is not as its description states. */
export async function open(path: string, headers: Headers = {}, method = "GET"): Promise<Response> {
  const request = aLinkRequest(path, headers, method);
  return conforming(request, await exports.default.fetch(request));
}

/** Does the same as `open` at a relay with these bindings. */
export function openWith(bindings: object, path: string, headers: Headers = {}, method = "GET") {
  return answerTo(aLinkRequest(path, headers, method), bindings);
}

/** Returns a request with a link and without a key, which follows no redirect. */
export function aLinkRequest(path: string, headers: Headers = {}, method = "GET"): Request {
  return new Request(aRequest(path, { key: null, headers, method }), { redirect: "manual" });
}

export async function bytesIn(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer());
}
