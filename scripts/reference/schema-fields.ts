import { countOf, countText } from "../../src/console/parts/format.ts";
import { type ApiDocument, refName, type Schema } from "./document.ts";

/**
 * A part of the text of a type. `schema` is the name of the schema to which this part links; it is absent for a part
 * without a link.
 */
export interface TypePart {
  readonly text: string;
  readonly schema?: string;
}

/** A member of an object, as the reference shows it. */
export interface Field {
  readonly name: string;
  readonly type: readonly TypePart[];
  /**
   * `required` when the member is always there; `required when`, with values of `status`, when it is there only in
   * objects with such a status; empty when it may be absent in all.
   */
  readonly requirement: string;
  readonly limits: string;
  readonly description: string;
  readonly members: readonly Field[];
}

type Schemas = ApiDocument["components"]["schemas"];

/**
 * Returns the members of an object. An object with several alternatives (`oneOf`, `anyOf`) has the members of all of
 * them; each is returned once, with the alternatives that require it.
 */
export function fieldsOf(schema: Schema, schemas: Schemas): readonly Field[] {
  const kinds = kindsOf(schema, schemas);
  const names = new Set(kinds.flatMap(({ properties }) => Object.keys(properties ?? {})));
  return Array.from(names, (name) => {
    const found = kinds.flatMap(({ properties }) => properties?.[name] ?? []);
    const requiring = kinds.filter(({ required }) => required?.includes(name) === true);
    return {
      name,
      type: unionOf(found),
      requirement: requirementOf(requiring, kinds.length),
      limits: limitsOf(found),
      description: found.find(({ description }) => description !== undefined)?.description ?? "",
      members: found.flatMap((each) => membersOf(each, schemas)).filter(isFirst),
    };
  });
}

/**
 * Returns the object schemas for which a schema stands: its alternatives (`oneOf` or `anyOf`), or else the schema
 * itself. References (`$ref`) are replaced by the schemas that they name. Returns `[]` when the schema is not that of
 * an object.
 */
function kindsOf(schema: Schema, schemas: Schemas): readonly Schema[] {
  if (schema.$ref !== undefined) {
    const target = schemas[refName(schema.$ref)];
    return target === undefined ? [] : kindsOf(target, schemas);
  }
  const kinds = schema.oneOf ?? schema.anyOf;
  if (kinds !== undefined) return kinds.flatMap((kind) => kindsOf(kind, schemas));
  return schema.properties === undefined ? [] : [schema];
}

/**
 * Returns the members of a field whose value is an object, or a list of objects. Returns none when the objects have a
 * named schema, which is described in a section of its own.
 */
function membersOf(schema: Schema, schemas: Schemas): readonly Field[] {
  if (schema.$ref !== undefined) return [];
  if (schema.items !== undefined) return membersOf(schema.items, schemas);
  const kinds = schema.oneOf ?? schema.anyOf;
  if (kinds !== undefined) return kinds.flatMap((kind) => membersOf(kind, schemas));
  return schema.properties === undefined ? [] : fieldsOf(schema, schemas);
}

function isFirst({ name }: Field, at: number, fields: readonly Field[]): boolean {
  return fields.findIndex((field) => field.name === name) === at;
}

function requirementOf(requiring: readonly Schema[], count: number): string {
  if (requiring.length === 0) return "";
  if (requiring.length === count) return "required";
  const kinds = requiring.flatMap(({ properties }) => valuesOf(properties?.["status"]));
  return kinds.length === 0 ? "" : `required when ${kinds.join(" or ")}`;
}

function valuesOf(schema: Schema | undefined): readonly string[] {
  if (schema?.const !== undefined) return [String(schema.const)];
  return schema?.enum?.map(String) ?? [];
}

/** Returns the type of a value as text, with links to the schemas that it names. */
export function typeOf(schema: Schema): readonly TypePart[] {
  if (schema.$ref !== undefined)
    return [{ text: refName(schema.$ref), schema: refName(schema.$ref) }];
  const kinds = schema.anyOf ?? schema.oneOf;
  if (kinds !== undefined) return unionOf(kinds);
  if (schema.items !== undefined) return [{ text: "array of " }, ...typeOf(schema.items)];
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values !== undefined)
    return [{ text: values.map((each) => JSON.stringify(each)).join(" | ") }];
  return plainTypeOf(schema);
}

function plainTypeOf({
  type,
  format,
  properties,
  additionalProperties,
}: Schema): readonly TypePart[] {
  if (typeof additionalProperties === "object" && properties === undefined) {
    const [value] = typeOf(additionalProperties);
    if (value === undefined || value.text === "any") return [{ text: "object" }];
    const isUnion = value.text.includes(" | ");
    return [{ text: "object of " }, isUnion ? { text: `(${value.text})` } : value];
  }
  const types = typeof type === "string" ? [type] : (type ?? ["any"]);
  const names = types.map((each) => (format === "uuid" && each === "string" ? "uuid" : each));
  return [{ text: names.join(" | ") }];
}

function unionOf(kinds: readonly Schema[]): readonly TypePart[] {
  const types = kinds.flatMap(alternativesOf).map(typeOf);
  const texts = types.map((parts) => parts.map(({ text }) => text).join(""));
  const distinct = types.filter((_, at) => texts.indexOf(texts[at] ?? "") === at);
  // The type null is written last.
  const isNull = (parts: readonly TypePart[]) => parts[0]?.text === "null";
  const ordered = distinct.toSorted((a, b) => Number(isNull(a)) - Number(isNull(b)));
  return ordered.flatMap((parts, at) => (at === 0 ? parts : [{ text: " | " }, ...parts]));
}

/** Returns the alternatives of a schema, and those of its alternatives; the schema itself when it has none. */
function alternativesOf(schema: Schema): readonly Schema[] {
  const kinds = schema.anyOf ?? schema.oneOf;
  return kinds === undefined ? [schema] : kinds.flatMap(alternativesOf);
}

/** Returns the limits of a value as text, e.g. `1–256 characters`, `at least 1` or `at most 1,000 items`. */
export function limitsOf(schemas: readonly Schema[]): string {
  const all = schemas.flatMap((schema) => [schema, ...(schema.anyOf ?? [])]);
  const found = all.flatMap((schema) => [
    range(schema.minLength, schema.maxLength, "character"),
    range(schema.minItems, schema.maxItems, "item"),
    // The number 99,999,999,999 is the maximum of every time; as a limit it would tell the reader nothing.
    schema.maximum === 99_999_999_999 ? "Unix seconds" : range(schema.minimum, schema.maximum, ""),
  ]);
  return [...new Set(found)].filter((text) => text !== "").join(", ");
}

function range(min: number | undefined, max: number | undefined, thing: string): string {
  const hasMin = min !== undefined && min > 0;
  if (max !== undefined) {
    const most = amountOf(max, thing);
    return hasMin ? `${countText(min)}–${most}` : `at most ${most}`;
  }
  return hasMin ? `at least ${amountOf(min, thing)}` : "";
}

function amountOf(count: number, thing: string): string {
  return thing === "" ? countText(count) : countOf(count, thing);
}
