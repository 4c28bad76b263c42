import type { AttemptRequest } from "../../api/callbacks/attempt-request.ts";
import { curl, headerOption, quoted } from "../../lib/curl.ts";

/**
 * Returns the curl command that sends the request of a callback attempt again.
 * @param url URL to which the command sends the request; by default the original one.
 */
export function attemptCurl({ headers, body, url: own }: AttemptRequest, url = own): string {
  const options = Object.entries(headers).map(([name, value]) => headerOption(name, value));
  return curl("-gi", url, [...options, `--data-binary ${quoted(body)}`]);
}

/** Returns the headers of a request as lines. In place of the value of a header of the endpoint a line has `…`. */
export function headerLines({
  headers,
  hidden_headers: hidden = [],
}: Pick<AttemptRequest, "headers" | "hidden_headers">): readonly string[] {
  return [
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...hidden.map((name) => `${name}: …`),
  ];
}

/**
 * Returns the request of a callback attempt as HTTP text. It has no header `Host` when a listener (a program that
 * receives callbacks over a WebSocket) got the request, because the relay does not know to which host the listener
 * passes it on.
 */
export function wireOf(request: AttemptRequest): string {
  const { url, body } = request;
  const { host, pathname, search } = new URL(url);
  const target =
    host === ""
      ? [`POST ${url} HTTP/1.1`]
      : [`POST ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  return [...target, ...headerLines(request), "", body].join("\n");
}
