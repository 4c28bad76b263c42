import { type ApiDocument, refName, type Schema } from "./document.ts";

type Schemas = ApiDocument["components"]["schemas"];

/** Schemas of the document, and the place where the reference describes each. */
export interface Reference {
  readonly schemas: Schemas;
  /** Returns the id of the section that describes a schema: its own, or that of which it is a kind. */
  readonly anchorOf: (schema: string) => string;
}

/** Prepares the schemas and their anchors for the parts of the reference. */
export function referenceOf(schemas: Schemas): Reference {
  const parents = parentsOf(schemas);
  return { schemas, anchorOf: (name) => parents.get(name) ?? name };
}

/** Lists the schemas that have a section: all but those that are a kind of another one, and problems. */
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
