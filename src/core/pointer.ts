// JSON Pointers (RFC 6901), which lead to a member of a JSON value, e.g. `/input/prompt`.

/** Returns the JSON Pointer that leads to a member by these names, the outermost first. */
export function jsonPointer(names: readonly PropertyKey[]): string {
  return names.map((name) => `/${segmentOf(String(name))}`).join("");
}

/** Returns the names by which a JSON Pointer leads to a member, the outermost first. */
export function namesIn(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(nameOfSegment);
}

/** Returns a name as a segment of a JSON Pointer. */
export function segmentOf(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Returns the name for which a segment of a JSON Pointer stands. */
export function nameOfSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
