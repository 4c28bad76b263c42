/** Names of fields whose value is one of a few words; the word belongs to the shape of the record. */
const WORDS = new Set(["status", "kind", "outcome", "category", "by", "v"]);
/** Names of fields that hold any JSON which somebody else has sent. */
const FREE = new Set(["parameters", "metadata"]);

/**
 * Describes the structure of a stored record, as lines like `failed.credits.state.kind: "refunding"`: its
 * fields, which values are null, empty, true or false, and the words in fields of `WORDS`.
 */
export function shapeOf(record: { readonly status: string }): string[] {
  return [...new Set(facts(record.status, "", record))].toSorted();
}

function facts(path: string, name: string, value: unknown): string[] {
  if (value === null) return [`${path}: null`];
  if (FREE.has(name)) return [`${path}: JSON`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${path}: none`];
    return value.flatMap((item: unknown) => facts(`${path}[]`, name, item));
  }
  if (typeof value === "object") {
    return Object.entries(value).flatMap(([key, field]) => facts(`${path}.${key}`, key, field));
  }
  const isWord = typeof value === "boolean" || WORDS.has(name);
  return [`${path}: ${isWord ? JSON.stringify(value) : typeof value}`];
}
