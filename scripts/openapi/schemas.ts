import * as z from "zod";
import type { CreateDocumentOptions } from "zod-openapi";
import { ROUTES } from "../../src/api/routes.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

const BODIES: ReadonlySet<unknown> = new Set(ROUTES.map(({ body }) => body));

/**
 * Options for the conversion of Zod schemas to JSON Schema. Answers do not forbid further members, because
 * later releases add some; tests compare the answers with the strict schemas.
 */
export const CONVERSION: CreateDocumentOptions = {
  allowEmptySchema: { custom: true, unknown: true },
  override: ({ zodSchema, jsonSchema }) => {
    const { def } = zodSchema._zod;
    // The only custom schema is that of an object with any members.
    if (def.type === "custom") Object.assign(jsonSchema, { type: "object" });
    if (def.type === "pipe") Object.assign(jsonSchema, contentOf(def.out));
    if (jsonSchema.additionalProperties === false && !BODIES.has(zodSchema)) {
      delete jsonSchema.additionalProperties;
    }
    // The default is in the relay's own form, e.g. of a cursor; the description of the parameter states the
    // default on the wire.
    if (def.type === "default") delete jsonSchema.default;
    if (def.type === "record") delete jsonSchema.propertyNames;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
};

/** Returns the schema of the items of a list, or of the members of a record, that is checked before them. */
function contentOf(checked: z.core.$ZodType): JsonSchema {
  if (checked instanceof z.core.$ZodArray) {
    const { items } = z.toJSONSchema(checked, { io: "input" });
    return items === undefined ? {} : { items };
  }
  if (!(checked instanceof z.core.$ZodRecord)) return {};
  const { type, additionalProperties } = z.toJSONSchema(checked, { io: "input" });
  return {
    ...(type && { type }),
    ...(additionalProperties !== undefined && { additionalProperties }),
  };
}
