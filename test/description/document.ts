import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import * as z from "zod";
import OPENAPI from "../../openapi.json" with { type: "json" };

const Node = z.record(z.string(), z.unknown());
const Media = z.looseObject({
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
});
const Answer = z.object({
  headers: Node.default({}),
  content: Node.default({}),
  /** Bodies for requests with a status token. */
  "x-for-status-token": z.object({ content: Node }).optional(),
});
type AnswerNode = z.output<typeof Answer>;
const Operation = z.object({ operationId: z.string(), responses: Node });

/** JSON-schema engine of another project, with openapi.json as the schema `openapi.json`. */
const engine = engineOf(OPENAPI);
/**
 * The same engine with schemas under which an object has no other members than those that its schema names.
 */
const strictEngine = engineOf(closed(OPENAPI));
const strictValidators = new Map<string, ValidateFunction>();

function engineOf(document: object): Ajv2020 {
  const schemas = { "openapi.json": document };
  return new Ajv2020({ strict: false, validateFormats: false, schemas });
}

/** Changes a schema so that its objects may have no members that the schema does not name. */
function closed(value: object): object {
  const entries = Object.entries(value).map(([name, member]) => {
    const isNested = typeof member === "object" && member !== null;
    return [name, isNested && name !== "example" ? closed(member) : member] as const;
  });
  if (Array.isArray(value)) return entries.map(([, member]) => member);
  const isObject = "type" in value && value.type === "object" && "properties" in value;
  const isOpen = isObject && !("additionalProperties" in value);
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) };
}

/** A body in openapi.json: its place, its schema and its examples. */
interface DescribedBody {
  readonly pointer: string;
  readonly validate: ValidateFunction;
  readonly examples: readonly unknown[];
}

/** Returns every body of a request or an answer that openapi.json describes. */
export function describedBodies(): readonly DescribedBody[] {
  return bodiesIn(OPENAPI, "");
}

function bodiesIn(value: unknown, pointer: string): readonly DescribedBody[] {
  const node = Node.safeParse(value);
  if (!node.success) return [];
  return Object.entries(node.data).flatMap(([name, member]) => {
    const inside = `${pointer}/${escaped(name)}`;
    return name === "content" ? mediaIn(member, inside) : bodiesIn(member, inside);
  });
}

function mediaIn(content: unknown, pointer: string): readonly DescribedBody[] {
  return Object.entries(Node.parse(content)).map(([type, media]) => {
    const { example, examples = {} } = Media.parse(media);
    const inside = `${pointer}/${escaped(type)}`;
    const validate = engine.compile({ $ref: refTo(`${inside}/schema`) });
    const single = example === undefined ? [] : [example];
    const several = Object.values(examples).map((one) => one.value);
    return { pointer: inside, validate, examples: [...single, ...several] };
  });
}

/** An answer of the relay to a request, which is compared with openapi.json. */
interface HeldAnswer {
  readonly method: string;
  /** Path of the request without its query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The operations of openapi.json, by method, with the pattern of their paths. */
const OPERATIONS = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const pattern = new RegExp(
      `^${path.replaceAll(".", "\\.").replaceAll(/\{\+?\w+\}/g, "[^/]+")}$`,
    );
    const pointer = `/paths/${escaped(path)}/${method}/responses`;
    return { method: method.toUpperCase(), pattern, pointer, ...Operation.parse(operation) };
  }),
);

/**
 * Requires that an answer is as openapi.json describes it: its status, its headers, its media type, and its
 * body with no other members than those described.
 * @returns the operation and the status, such as `readTask 200`; null when no operation has this path.
 * @throws Error that names them and what differs.
 */
export function requireDescribed({
  method,
  path,
  status,
  headers,
  text,
}: HeldAnswer): string | null {
  const found = OPERATIONS.find((one) => one.method === method && one.pattern.test(path));
  if (found === undefined) return null;
  const pair = `${found.operationId} ${status}`;
  const { [status]: described } = found.responses;
  if (described === undefined) throw new Error(`${pair} is not described`);
  const pointer = pointerTo(described) ?? `${found.pointer}/${status}`;
  const answer = bodiesOf(Answer.parse(at(pointer)), headers);
  const missing = requiredHeaders(answer).filter((name) => !headers.has(name));
  if (missing.length > 0) throw new Error(`${pair} has no ${missing.join(", ")}`);
  const type = headers.get("Content-Type") ?? "";
  if (type === "" && text === "" && Object.keys(answer.content).length === 0) return pair;
  if (answer.content[type] === undefined) throw new Error(`${pair}: ${type} is not described`);
  const validate = strictValidator(`${pointer}${answer.at}/content/${escaped(type)}/schema`);
  const body: unknown = /\bjson$/.test(type) ? JSON.parse(text) : text;
  if (validate(body)) return pair;
  throw new Error(`${pair}: ${strictEngine.errorsText(validate.errors)}\n${text}`);
}

/** Returns an answer with the bodies that it has for the sender of the request, and where they stand in it. */
function bodiesOf({ "x-for-status-token": linked, ...answer }: AnswerNode, headers: Headers) {
  const isForToken = linked !== undefined && headers.has("Access-Control-Allow-Origin");
  return isForToken ? { ...answer, ...linked, at: "/x-for-status-token" } : { ...answer, at: "" };
}

/** Returns the headers that an answer always has; those given as references belong to every answer. */
function requiredHeaders({ headers }: Pick<AnswerNode, "headers">): readonly string[] {
  return Object.entries(headers).flatMap(([name, header]) => {
    const { required, $ref } = z.looseObject({}).parse(header);
    return required === true || $ref !== undefined ? [name] : [];
  });
}

function strictValidator(pointer: string): ValidateFunction {
  const known = strictValidators.get(pointer);
  const validate = known ?? strictEngine.compile({ $ref: refTo(pointer) });
  strictValidators.set(pointer, validate);
  return validate;
}

/** Returns the JSON Pointer of a reference; null for a value that is not a reference. */
function pointerTo(value: unknown): string | null {
  const { data } = z.object({ $ref: z.string() }).safeParse(value);
  return data === undefined ? null : data.$ref.slice(1);
}

/** Returns the part of openapi.json at a JSON Pointer. */
function at(pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  return names.reduce<unknown>(
    (value, name) => Node.parse(value)[name.replaceAll("~1", "/").replaceAll("~0", "~")],
    OPENAPI,
  );
}

function refTo(pointer: string): string {
  return `openapi.json#${encodeURI(pointer)}`;
}

/** Escapes a name for a JSON Pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
