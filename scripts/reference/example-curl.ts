import { curl, headerOption, quoted, WITH_KEY } from "../../src/lib/curl.ts";
import type { Endpoint, Parameter } from "./document.ts";
import { EXAMPLE_ORIGIN } from "./origin.ts";

/** Returns the command that sends the example request of an operation to the relay of the examples. */
export function exampleCurl(endpoint: Endpoint): string {
  const { method, security, parameters = [], requestBody } = endpoint;
  const content = requestBody?.content ?? {};
  const body = (content["application/json"] ?? content["*/*"])?.example;
  const hasBody = body !== undefined && JSON.stringify(body) !== "{}";
  const query = parameters.filter((each) => each.in === "query" && each.required === true);
  const isProtected = security.some((each) => "operatorKey" in each || "accountKey" in each);
  return curl("-fsS", `${EXAMPLE_ORIGIN}${pathOf(endpoint)}${queryOf(query)}`, [
    ...(method === "GET" || (method === "POST" && hasBody) ? [] : [`-X ${method}`]),
    ...(isProtected ? [WITH_KEY] : []),
    ...headersOf(parameters),
    ...(hasBody ? [`-d ${quoted(JSON.stringify(body, null, 2))}`] : []),
  ]);
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
