import type { FormField } from "../../objects/call/form-reader.ts";
import { bytesOf } from "../../security/encoding.ts";

/**
 * Returns a form as a JSON body, so that its fields are checked as the members of a body are. `a[b]` and `a.b` are
 * members of an object `a`, `a[]` are lists; a field that is named twice is there twice. A file is an object without
 * members, so that it is no value of a member.
 */
export function formAsJson(fields: readonly FormField[]): Uint8Array<ArrayBuffer> {
  const members = fields.map(({ name, text }) => {
    const [first = "", ...inside] = name.split(/[[.]/);
    const value = inside.reduceRight(
      (inner, part) => around(inner, part.replace(/\]$/, "")),
      text === null ? "{}" : JSON.stringify(text),
    );
    return `${JSON.stringify(first)}:${value}`;
  });
  return bytesOf(`{${members.join(",")}}`);
}

function around(json: string, name: string): string {
  return name === "" ? `[${json}]` : `{${JSON.stringify(name)}:${json}}`;
}
