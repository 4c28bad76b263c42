import type { oas32 } from "zod-openapi";
import type { Parameter, RouteDescription } from "../../src/api/description/description.ts";
import { DESCRIPTIONS } from "../../src/api/description/descriptions.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { describeParameter } from "./parameters.ts";

const METHODS = { GET: "get", POST: "post", DELETE: "delete" } as const;

/**
 * Adds to the description of requests the texts that the schemas of the running relay lack: those about
 * parameters and about the fields of bodies.
 */
export function describeRequests(document: oas32.OpenAPIObject): oas32.OpenAPIObject {
  for (const { id, path, method } of ROUTES) {
    const operation = document.paths?.[path]?.[METHODS[method]];
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
