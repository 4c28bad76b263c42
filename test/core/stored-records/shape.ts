/** Fields of closed vocabularies: what they say is part of the shape. */
const WORDS = new Set(["status", "kind", "outcome", "category", "by", "v"]);
/** Fields that hold whatever JSON somebody else has sent. */
const FREE = new Set(["parameters", "metadata"]);

/**
 * What a stored record is made of, as lines like `failed.credits.state.kind: "refunding"`: which fields
 * there are, what is null, empty, true or false, and every word of a closed vocabulary.
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
