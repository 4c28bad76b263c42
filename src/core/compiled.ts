import * as z from "zod/mini";
import { type $ZodType, compileFn } from "zod/v4/core";

/**
 * Returns a schema that reads values by code that is generated for it now. The platform lets code be generated only
 * while the isolate starts. `z.compile` would do the same and also generate a second function, for `z.validate`, which
 * takes as long again and is no faster than the first one. Where no code can be generated, zod interprets the schema.
 */
export function compiled<Schema extends $ZodType>(schema: Schema): Schema {
  try {
    return z.withParser(schema, compileFn(schema));
  } catch {
    return schema;
  }
}
