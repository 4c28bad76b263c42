/** Types of those parts of the API's description (openapi.json) that the reference page reads. */

export interface ApiDocument {
  readonly info: { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string | undefined;
  readonly security: readonly Readonly<Record<string, readonly string[] | undefined>>[];
  readonly "x-access"?: string | undefined;
  readonly "x-problems"?: readonly string[] | undefined;
  readonly "x-rate-limit"?: string | undefined;
  readonly parameters?: readonly Parameter[] | undefined;
  readonly requestBody?: { readonly required: boolean; readonly content: Content } | undefined;
  readonly responses: Readonly<Record<string, Answer | undefined>>;
}

export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean | undefined;
  readonly schema: Schema;
  readonly description?: string | undefined;
  readonly example?: unknown;
}

/** An answer in the description of the API. An answer with `$ref` is an error (problem). */
interface Answer {
  readonly $ref?: string | undefined;
  readonly description?: string | undefined;
  readonly headers?: Readonly<Record<string, Header | undefined>> | undefined;
  readonly content?: Content | undefined;
}

/** A header of an answer in the description of the API. A header with `$ref` belongs to every answer. */
interface Header {
  readonly $ref?: string | undefined;
  readonly description?: string | undefined;
}

/** Bodies of a request or an answer, by their media type. */
export type Content = Readonly<Record<string, Body | undefined>>;

interface Body {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown } | undefined>> | undefined;
}

type Scalar = string | number | boolean | null;

export interface Schema {
  readonly $ref?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Schema | undefined>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Schema | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly allOf?: readonly Schema[] | undefined;
  readonly additionalProperties?: boolean | Schema | undefined;
  readonly enum?: readonly Scalar[] | undefined;
  readonly const?: Scalar | undefined;
  readonly default?: Scalar | undefined;
  readonly format?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly description?: string | undefined;
}

/** An operation with its method and its path. */
export interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

/** Returns the operations that are for an audience (a tag of the document), in the order of the document. */
export function endpointsFor(document: ApiDocument, audience: string): readonly Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      operation?.tags.includes(audience) === true
        ? [{ ...operation, method: method.toUpperCase(), path }]
        : [],
    ),
  );
}

/** Returns the title of an operation, e.g. `Register task` for the id `registerTask`. */
export function titleOf(operationId: string): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
    .replace(/jwks/, "JWKS")
    .replace(/open api/, "OpenAPI");
}

/** Returns the name of the schema to which a reference points, i.e. the last part of the reference. */
export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
