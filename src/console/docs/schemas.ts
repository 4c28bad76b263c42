import { type ApiDocument, refName, type Schema } from "./document.ts";

type Schemas = ApiDocument["components"]["schemas"];

/** Schemas of the API's description, and the section of the reference that describes each. */
export interface Reference {
  readonly schemas: Schemas;
  /**
   * Returns the id of the section that describes a schema: its own section, or that of the schema of which it
   * is one kind.
   */
  readonly anchorOf: (schema: string) => string;
}

/** Prepares the schemas and their anchors for the parts of the reference. */
export function referenceOf(schemas: Schemas): Reference {
  const parents = parentsOf(schemas);
  return { schemas, anchorOf: (name) => parents.get(name) ?? name };
}

/**
 * Lists the schemas that have a section of their own: all except problems and schemas that are one kind of
 * another one.
 */
export function visibleSchemas(schemas: Schemas): readonly (readonly [string, Schema])[] {
  const parents = parentsOf(schemas);
  return Object.entries(schemas).filter(([name]) => !parents.has(name) && name !== "Problem");
}

/** Returns for each schema that is one kind of another schema the name of that one. */
function parentsOf(schemas: Schemas): ReadonlyMap<string, string> {
  const pairs = Object.entries(schemas).flatMap(([name, { oneOf = [] }]) =>
    oneOf.flatMap(({ $ref }) => ($ref === undefined ? [] : [[refName($ref), name] as const])),
  );
  return new Map(pairs);
}
