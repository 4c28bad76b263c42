import type { Limit } from "../../core/offers/offer.ts";
import type { ObjectSchema } from "../../core/offers/tool-schema.ts";

/** A JSON Schema (https://json-schema.org/draft/2020-12) with the keywords by which offers describe a value. */
export interface JsonSchema {
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly examples?: readonly unknown[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly format?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly items?: JsonSchema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | undefined;
}

const ANY_OBJECT: JsonSchema = { type: "object", properties: {}, required: [] };

/**
 * Returns the schema of the arguments of an offer with a body: the one that the operator has written, without its title
 * and description, narrowed by the limits of the offer.
 */
export function argumentSchema(schema: ObjectSchema, limits: readonly Limit[]): JsonSchema {
  const { title: _, description: __, ...written } = schema;
  return limits.filter(isOfBody).reduce<JsonSchema>(withLimit, written);
}

/**
 * Returns the schema of the body of an upstream's own call: what the limits of an offer demand of it, and the model.
 * Everything else is between the customer and the upstream.
 * @param modelPointer JSON Pointer of the model in the body. Null when the model is not in the body.
 * @param models names of models, in which `*` stands for any characters.
 */
export function callSchema(
  limits: readonly Limit[],
  modelPointer: string | null,
  models: readonly string[],
): JsonSchema {
  const limited = limits.filter(isOfBody).reduce(withLimit, ANY_OBJECT);
  if (modelPointer === null) return limited;
  const isAny = models.some((model) => model.includes("*"));
  const model: JsonSchema = isAny ? { type: "string" } : { type: "string", enum: models };
  return withMember(limited, namesIn(modelPointer), (own) => ({ ...model, ...own }), true);
}

/** Returns the schema of the query of an upstream's own call. Null when the offer permits no parameter. */
export function querySchema(limits: readonly Limit[]): JsonSchema | null {
  const ofQuery = limits.filter((limit) => !isOfBody(limit));
  if (ofQuery.length === 0) return null;
  const limited = ofQuery.reduce<JsonSchema>(
    (schema, limit) => withMember(schema, [limit.pointer.slice(1)], ...narrowing(limit)),
    ANY_OBJECT,
  );
  return { ...limited, additionalProperties: false };
}

/** Tells whether a limit concerns a member of the body. If not, it concerns a parameter of the query. */
function isOfBody({ pointer }: Limit): boolean {
  return pointer.startsWith("/");
}

function withLimit(schema: JsonSchema, limit: Limit): JsonSchema {
  return withMember(schema, namesIn(limit.pointer), ...narrowing(limit));
}

/** Returns how a limit changes the schema of the value that it limits, and whether the value must be there. */
function narrowing(limit: Limit): [(own: JsonSchema) => JsonSchema, boolean] {
  return [(own) => narrowed(own, limit), !limit.isOptional];
}

/**
 * Returns an object's schema in which the schema of the member at this path is changed. The objects around the member
 * are added where they are not described. A member that the schema does not permit stays as it is.
 */
function withMember(
  schema: JsonSchema,
  [name = "", ...inner]: readonly string[],
  change: (own: JsonSchema) => JsonSchema,
  isRequired: boolean,
): JsonSchema {
  const { properties = {}, required = [], additionalProperties } = schema;
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (own === undefined && additionalProperties === false) return schema;
  const member =
    inner.length === 0
      ? change(own ?? {})
      : withMember(own ?? ANY_OBJECT, inner, change, isRequired);
  const isAdded = isRequired && own?.default === undefined && !required.includes(name);
  return {
    ...schema,
    properties: { ...properties, [name]: member },
    required: isAdded ? [...required, name] : required,
  };
}

/** Returns the schema of a value that also obeys a limit. */
function narrowed(own: JsonSchema, { values, min, max }: Limit): JsonSchema {
  if (values !== null) {
    const both = own.enum?.filter((value) => values.some((each) => each === value)) ?? values;
    return { type: typeOf(values), ...own, enum: both };
  }
  return {
    type: "number",
    ...own,
    ...bound("minimum", Math.max(min ?? -Infinity, own.minimum ?? -Infinity)),
    ...bound("maximum", Math.min(max ?? Infinity, own.maximum ?? Infinity)),
  };
}

function bound(keyword: "minimum" | "maximum", value: number): JsonSchema {
  return Number.isFinite(value) ? { [keyword]: value } : {};
}

/** Returns the type that all values have; undefined when they have several. */
function typeOf(values: readonly unknown[]): string | undefined {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  return others.length === 0 ? type : undefined;
}

/** Returns the member names of which a JSON Pointer (RFC 6901) consists, unescaped. */
export function namesIn(pointer: string): readonly string[] {
  const names = pointer.split("/").slice(1);
  return names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}
