import type { AttemptRequest } from "../../api/tasks/attempt-request.ts";
import type { Endpoint, Parameter } from "../docs/document.ts";

/** Option of curl that sends the API key. The key is in the variable `KEY` of the shell. */
export const WITH_KEY = '-H "Authorization: Bearer $KEY"';

/** Returns a command of curl for a POSIX shell, with each option in a line of its own. */
export function curl(flags: string, url: string, options: readonly string[]): string {
  return [`curl ${flags} ${quoted(url)}`, ...options].join(" \\\n  ");
}

/** Returns the command that sends the example request of an operation to the relay at this origin. */
export function exampleCurl(endpoint: Endpoint, origin: string): string {
  const { method, security, parameters = [], requestBody } = endpoint;
  const content = requestBody?.content ?? {};
  const body = (content["application/json"] ?? content["*/*"])?.example;
  const hasBody = body !== undefined && JSON.stringify(body) !== "{}";
  const query = parameters.filter((each) => each.in === "query" && each.required === true);
  const isProtected = security.some((each) => "operatorKey" in each || "accountKey" in each);
  return curl("-fsS", `${origin}${pathOf(endpoint)}${queryOf(query)}`, [
    ...(method === "GET" || (method === "POST" && hasBody) ? [] : [`-X ${method}`]),
    ...(isProtected ? [WITH_KEY] : []),
    ...headersOf(parameters),
    ...(hasBody ? [`-d ${quoted(JSON.stringify(body, null, 2))}`] : []),
  ]);
}

/**
 * Returns the command that sends the request of a callback attempt again.
 * @param url URL to which the command sends the request; by default the original URL.
 */
export function attemptCurl({ headers, body, url: own }: AttemptRequest, url = own): string {
  const options = Object.entries(headers).map(([name, value]) => headerOption(name, value));
  return curl("-gi", url, [...options, `--data-binary ${quoted(body)}`]);
}

/**
 * Returns the request of an attempt of a callback as HTTP text. The header `Host` is missing when a listener (a
 * program that receives callbacks over a WebSocket) got the request, because the relay does not know the host to
 * which the listener forwards it.
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

function headerOption(name: string, value: string): string {
  return `-H ${quoted(`${name}: ${value}`)}`;
}

/**
 * Returns a text as one word of a shell command. It is quoted unless it contains only characters without a special
 * meaning.
 */
function quoted(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function pathOf({ path, parameters = [] }: Endpoint): string {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((each) => each.in === "path" && each.name === name)?.example;
    if (example === undefined) return whole;
    // A parameter that is a path itself has slashes.
    return textOf(example).split("/").map(encodeURIComponent).join("/");
  });
}

function queryOf(parameters: readonly Parameter[]): string {
  const pairs = parameters.map(({ name, example }) => [name, textOf(example)]);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/**
 * Returns the options for the headers that a request requires. An optional `Idempotency-Key` is included, so that the
 * command can be repeated without harm.
 */
function headersOf(parameters: readonly Parameter[]): readonly string[] {
  return parameters
    .filter((each) => each.in === "header" && (each.required ?? each.name === "Idempotency-Key"))
    .map(({ name, example }) => headerOption(name, textOf(example)));
}

function textOf(example: unknown): string {
  return typeof example === "string" || typeof example === "number" ? String(example) : "…";
}
