import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Observation } from "./judge.ts";
import type { SentRequest } from "./requests.ts";

/** Error codes of a connection that existed before it broke. */
const BROKEN_CONNECTION: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "EPIPE",
  "HPE_INVALID_CONSTANT",
]);

/** Error for a receiver to which no connection can be made, e.g. because nothing listens at its address. */
export class Unreachable extends Error {}

/**
 * Sends a request on a connection of its own, and observes what the receiver does.
 * @throws Unreachable when no connection can be made.
 */
export async function send(url: URL, sent: SentRequest, timeoutS: number): Promise<Observation> {
  const { promise, resolve, reject } = Promise.withResolvers<Observation>();
  const request = opened(url, sent);
  const timer = setTimeout(() => {
    resolve({ kind: "timeout", afterS: timeoutS });
    request.destroy();
  }, timeoutS * 1000);
  request.on("response", (response) => {
    response.resume();
    const { statusCode: status = 0, headers } = response;
    resolve({ kind: "answer", status, acted: actedIn(headers["x-acted"]) });
  });
  request.on("error", (error: Error & { code?: string }) => {
    const { code = error.message } = error;
    if (BROKEN_CONNECTION.has(code)) resolve({ kind: "closed" });
    else reject(new Unreachable(code));
  });
  request.end(sent.body);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.destroy();
  }
}

function opened(url: URL, { headers }: SentRequest): ClientRequest {
  const open = url.protocol === "https:" ? httpsRequest : httpRequest;
  return open(url.href, { method: "POST", headers, agent: false });
}

function actedIn(header: string | string[] | undefined): boolean | null {
  return header === "yes" ? true : header === "no" ? false : null;
}
