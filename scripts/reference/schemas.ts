import { type ApiDocument, refName, type Schema } from "./document.ts";

type Schemas = ApiDocument["components"]["schemas"];

/** Schemas of the API's description, with a function that finds the section of the reference page for each. */
export interface Reference {
  readonly schemas: Schemas;
  /**
   * Returns the id of the section that describes a schema. A schema that is an alternative (`oneOf`) of another
   * schema is described in the section of the other schema.
   */
  readonly anchorOf: (schema: string) => string;
}

/** Returns the schemas together with a function that finds the section of the reference page for each. */
export function referenceOf(schemas: Schemas): Reference {
  const parents = parentsOf(schemas);
  return { schemas, anchorOf: (name) => parents.get(name) ?? name };
}

/**
 * Returns the schemas that have a section of their own: all except the error answer `Problem`, and except the
 * alternatives (`oneOf`) of other schemas.
 */
export function visibleSchemas(schemas: Schemas): readonly (readonly [string, Schema])[] {
  const parents = parentsOf(schemas);
  return Object.entries(schemas).filter(([name]) => !parents.has(name) && name !== "Problem");
}

/** Returns, for each schema that is an alternative (`oneOf`) of another schema, the name of the other schema. */
function parentsOf(schemas: Schemas): ReadonlyMap<string, string> {
  const pairs = Object.entries(schemas).flatMap(([name, { oneOf = [] }]) =>
    oneOf.flatMap(({ $ref }) => ($ref === undefined ? [] : [[refName($ref), name] as const])),
  );
  return new Map(pairs);
}
