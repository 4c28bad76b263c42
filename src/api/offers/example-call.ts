import { curl, headerOption, quoted, WITH_KEY } from "../../lib/curl.ts";
import { RESPOND_ASYNC } from "../submit/preference.ts";
import type { JsonSchema } from "./offer-schema.ts";

/** Stands for a text that the caller chooses. */
const ANY_TEXT = "…";
const EXAMPLE_URL = "https://example.com/input.png";

/** A call of a client to the relay, of which an example is shown. */
export interface ShownCall {
  readonly url: string;
  /** Schema of the body, of which the example has the members that must be there. */
  readonly body: JsonSchema;
  /** Schema of the query; null when the call has none. */
  readonly query: JsonSchema | null;
  /** Further headers of the call. A value may be a variable of the shell. */
  readonly headers: Readonly<Record<string, string>>;
  /** True when the relay takes the call only from clients that do not wait for the upstream's answer. */
  readonly isAsync: boolean;
}

/**
 * Returns a call as a curl command for a POSIX shell. The API key is in the variable `KEY`. The command may be repeated,
 * because it has an `Idempotency-Key`.
 */
export function exampleCall({ url, body, query, headers, isAsync }: ShownCall): string {
  return curl("-fsS", `${url}${queryOf(query)}`, [
    ...(Object.hasOwn(headers, "Relay-Key") ? [] : [WITH_KEY]),
    ...Object.entries(headers).map(([name, value]) => `-H "${name}: ${value}"`),
    headerOption("Idempotency-Key", "order-1"),
    ...(isAsync ? [headerOption("Prefer", RESPOND_ASYNC)] : []),
    `-d ${quoted(JSON.stringify(exampleOf(body)))}`,
  ]);
}

function queryOf(schema: JsonSchema | null): string {
  const { properties = {}, required = [] } = schema ?? {};
  const pairs = required.map((name) => [name, String(exampleOf(properties[name] ?? {}))]);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/** Returns a value that a schema permits: the one that it names, or the simplest. */
function exampleOf(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  const [named] = [...(schema.examples ?? []), ...(schema.enum ?? [])];
  if (named !== undefined) return named;
  switch (schema.type) {
    case "object":
      return exampleObject(schema);
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => exampleOf(schema.items ?? {}));
    case "boolean":
      return false;
    case "integer":
    case "number":
      return exampleNumber(schema);
    case "string":
    case undefined:
      return exampleText(schema);
  }
}

function exampleObject({ properties = {}, required = [] }: JsonSchema): object {
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}

function exampleNumber({ type, minimum = -Infinity, maximum = Infinity }: JsonSchema): number {
  const number = Math.max(minimum, Math.min(maximum, 1));
  return type === "integer" ? Math.ceil(number) : number;
}

function exampleText({ format, minLength = 1, maxLength = Infinity }: JsonSchema): string {
  if (format === "uri") return EXAMPLE_URL;
  return ANY_TEXT.repeat(Math.max(1, minLength)).slice(0, maxLength);
}
