import * as z from "zod";
import type { CreateDocumentOptions } from "zod-openapi";
import { ROUTES } from "../../src/api/routes.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

const BODIES: ReadonlySet<unknown> = new Set(ROUTES.map(({ body }) => body));

/**
 * How schemas of Zod become JSON Schema. Answers do not forbid further members, because later releases add
 * some; tests compare the answers with the strict schemas.
 */
export const CONVERSION: CreateDocumentOptions = {
  allowEmptySchema: { custom: true, unknown: true },
  override: ({ zodSchema, jsonSchema }) => {
    const { def } = zodSchema._zod;
    // The only custom schema is that of an object with any members.
    if (def.type === "custom") Object.assign(jsonSchema, { type: "object" });
    if (def.type === "pipe") Object.assign(jsonSchema, itemsOf(def.out));
    if (jsonSchema.additionalProperties === false && !BODIES.has(zodSchema)) {
      delete jsonSchema.additionalProperties;
    }
    // A default of the relay's own form, e.g. of a cursor; the descriptions state those of the wire.
    if (def.type === "default") delete jsonSchema.default;
    if (def.type === "record") delete jsonSchema.propertyNames;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  },
};

/** Returns the schema of the items of a list that is counted before its items are checked. */
function itemsOf(checked: z.core.$ZodType): JsonSchema {
  if (!(checked instanceof z.core.$ZodArray)) return {};
  const { items } = z.toJSONSchema(checked, { io: "input" });
  return items === undefined ? {} : { items };
}
