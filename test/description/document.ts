import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import * as z from "zod";
import OPENAPI from "../../openapi.json" with { type: "json" };

const KEY = "openapi.json";

const Media = z.looseObject({
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
});
const Node = z.record(z.string(), z.unknown());

/** JSON-schema engine that is not ours, with openapi.json as the schema `openapi.json`. */
const engine = new Ajv2020({ strict: false, validateFormats: false, schemas: { [KEY]: OPENAPI } });

/** A body in openapi.json: where it stands, its schema, and its examples. */
export interface DescribedBody {
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
    const validate = engine.compile({ $ref: `${KEY}#${encodeURI(inside)}/schema` });
    const single = example === undefined ? [] : [example];
    const several = Object.values(examples).map((one) => one.value);
    return { pointer: inside, validate, examples: [...single, ...several] };
  });
}

/** Escapes a name for a JSON Pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
