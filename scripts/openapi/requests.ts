import type { oas32 } from "zod-openapi";
import type { Route } from "../../src/api/http/route.ts";
import { ROUTES } from "../../src/api/routes.ts";
import type { Parameter, RouteDescription } from "../../src/api/http/route.openapi.ts";
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import { REQUEST_HEADERS } from "../../src/api/http/headers.openapi.ts";
import { PATH_PARAMETERS } from "../../src/api/http/path.openapi.ts";

type ParameterObject = oas32.ParameterObject;

const METHODS = { GET: "get", POST: "post", PUT: "put", DELETE: "delete" } as const;

/** Returns the path of a route in the notation of OpenAPI, which does not tell how many segments a parameter has. */
export function openApiPath({ path }: Pick<Route, "path">): string {
  return path.replaceAll("{+", "{");
}

/** Returns the parameters of a route that have no Zod schema: those in its path and its headers. */
export function plainParameters(
  { path }: Route,
  { request }: RouteDescription,
): readonly ParameterObject[] {
  const inPath = Array.from(path.matchAll(/\{\+?(\w+)\}/g), ([, name = ""]): ParameterObject => {
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

/**
 * Adds to the description of requests the texts that the schemas of the running relay lack: those about
 * parameters and about the fields of bodies.
 */
export function describeRequests(document: oas32.OpenAPIObject): oas32.OpenAPIObject {
  for (const { id, method, ...route } of ROUTES) {
    const operation = document.paths?.[openApiPath(route)]?.[METHODS[method]];
    if (operation !== undefined) describeRequest(operation, DESCRIPTIONS[id]);
  }
  return document;
}

function describeRequest(
  operation: oas32.OperationObject,
  { request = {} }: RouteDescription,
): void {
  const { query = {}, fields = {} } = request;
  describeQuery(operation, query);
  if (operation.requestBody === undefined || !("content" in operation.requestBody)) return;
  const { "application/json": json } = operation.requestBody.content;
  if (json !== undefined && "schema" in json && json.schema !== undefined) {
    describeFields(json.schema, fields);
  }
}

function describeQuery(
  operation: oas32.OperationObject,
  query: Readonly<Record<string, Parameter>>,
): void {
  for (const parameter of operation.parameters ?? []) {
    if (!("in" in parameter) || parameter.in !== "query") continue;
    const description = query[parameter.name];
    if (description !== undefined) describeParameter(parameter, description);
  }
}

/** Adds what the schema of a query parameter does not say: its description, an example, limits of a number. */
function describeParameter(parameter: ParameterObject, description: Parameter): void {
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

function describeFields(
  schema: oas32.SchemaObject,
  fields: Readonly<Record<string, string>>,
): void {
  if (typeof schema === "boolean" || "$ref" in schema) return;
  for (const variant of schema.oneOf ?? []) describeFields(variant, fields);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const description = fields[name];
    if (description !== undefined && typeof field !== "boolean")
      Object.assign(field, { description });
  }
}
