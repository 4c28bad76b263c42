import type { Endpoint, Parameter } from "./document.ts";

/** Writes the command that sends the example of an operation to the relay with this origin. */
export function curlOf(endpoint: Endpoint, origin: string): string {
  const { method, security, parameters = [], requestBody } = endpoint;
  const body = requestBody?.content["application/json"]?.example;
  const hasBody = body !== undefined && JSON.stringify(body) !== "{}";
  const query = parameters.filter((each) => each.in === "query" && each.required === true);
  const isProtected = security.some((each) => "operatorKey" in each || "accountKey" in each);
  return [
    `curl -fsS ${quoted(`${origin}${pathOf(endpoint)}${queryOf(query)}`)}`,
    ...(method === "GET" || (method === "POST" && hasBody) ? [] : [`-X ${method}`]),
    ...(isProtected ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...headersOf(parameters),
    ...(hasBody ? [`-d '${shellText(JSON.stringify(body, null, 2))}'`] : []),
  ].join(" \\\n  ");
}

function pathOf({ path, parameters = [] }: Endpoint): string {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((each) => each.in === "path" && each.name === name)?.example;
    return example === undefined ? whole : encodeURIComponent(textOf(example));
  });
}

function queryOf(parameters: readonly Parameter[]): string {
  const pairs = parameters.map(({ name, example }) => [name, textOf(example)]);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/**
 * Returns the headers that a request requires, and an `Idempotency-Key`, with which the command can be
 * repeated without harm.
 */
function headersOf(parameters: readonly Parameter[]): readonly string[] {
  return parameters
    .filter((each) => each.in === "header" && (each.required ?? each.name === "Idempotency-Key"))
    .map(({ name, example }) => `-H '${shellText(`${name}: ${textOf(example)}`)}'`);
}

function textOf(example: unknown): string {
  return typeof example === "string" || typeof example === "number" ? String(example) : "…";
}

function quoted(url: string): string {
  return /[?&*{}'"\s]/.test(url) ? `'${shellText(url)}'` : url;
}

/** Escapes a text that is put between single quotes of a shell. */
function shellText(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}
