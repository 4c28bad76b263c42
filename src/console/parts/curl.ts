import type { AttemptRequest } from "../../api/callbacks/attempt-request.ts";

/** Option of curl that sends the API key. The key is in the variable `KEY` of the shell. */
export const WITH_KEY = '-H "Authorization: Bearer $KEY"';

/** Returns a curl command for a POSIX shell, with each option on a line of its own. */
export function curl(flags: string, url: string, options: readonly string[]): string {
  return [`curl ${flags} ${quoted(url)}`, ...options].join(" \\\n  ");
}

/**
 * Returns the curl command that sends the request of a callback attempt again.
 * @param url URL to which the command sends the request; by default the original one.
 */
export function attemptCurl({ headers, body, url: own }: AttemptRequest, url = own): string {
  const options = Object.entries(headers).map(([name, value]) => headerOption(name, value));
  return curl("-gi", url, [...options, `--data-binary ${quoted(body)}`]);
}

/**
 * Returns the request of a callback attempt as HTTP text. It has no header `Host` when a listener (a program that
 * receives callbacks over a WebSocket) got the request, because the relay does not know to which host the listener
 * passes it on.
 */
export function wireOf({ url, headers, body }: AttemptRequest): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const target =
    host === ""
      ? [`POST ${url} HTTP/1.1`]
      : [`POST ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  return [...target, ...lines, "", body].join("\n");
}

/** Returns the curl option that sends a header. */
export function headerOption(name: string, value: string): string {
  return `-H ${quoted(`${name}: ${value}`)}`;
}

/**
 * Returns a text as one word of a shell command, in quotation marks unless no character in it has a special meaning.
 */
export function quoted(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
