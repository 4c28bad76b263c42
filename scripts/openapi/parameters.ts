import { REQUEST_HEADERS } from "../../src/api/description/headers.ts";
import type { Parameter, RouteDescription } from "../../src/api/description/description.ts";
import { PATH_PARAMETERS } from "../../src/api/description/parameters.ts";
import type { Route } from "../../src/api/http/route.ts";
import type { oas32 } from "zod-openapi";

type ParameterObject = oas32.ParameterObject;

/** Returns the parameters of a route that have no Zod schema: those in its path and its headers. */
export function plainParameters(
  { path }: Route,
  { request }: RouteDescription,
): readonly ParameterObject[] {
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]): ParameterObject => {
    const known = PATH_PARAMETERS[name];
    if (known === undefined) throw new Error(`the path parameter ${name} has no description`);
    const schema = { type: "string" as const };
    return { in: "path", name, required: true, schema, ...known };
  });
  const inHeader = (request?.headers ?? []).map((name): ParameterObject => {
    const schema = { type: "string" as const };
    return { in: "header", name, schema, ...REQUEST_HEADERS[name] };
  });
  return [...inPath, ...inHeader];
}

/** Adds what the schema of a query parameter does not say: its description, an example, limits of a number. */
export function describeParameter(parameter: ParameterObject, description: Parameter): void {
  const { integer, ...texts } = description;
  const { schema } = parameter;
  Object.assign(parameter, texts);
  if (integer !== undefined) {
    const { min, max, fallback } = integer;
    parameter.schema = {
      type: "integer",
      minimum: min,
      ...(max !== undefined && { maximum: max }),
      ...(fallback !== undefined && { default: fallback }),
    };
  } else if (typeof schema === "object" && "enum" in schema && schema.enum?.[0] === "true") {
    parameter.schema = { type: "boolean", default: false };
  }
}
