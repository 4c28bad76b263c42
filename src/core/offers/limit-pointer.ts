import type { Limit } from "./offer.ts";

/** Tells whether a limit concerns a member of the body. If not, it concerns a parameter of the query. */
export function isOfBody({ pointer }: Limit): boolean {
  return pointer.startsWith("/");
}

/**
 * Returns the JSON Pointer of a member after the pointers of all objects that contain it, the outermost first: `/a` and
 * `/a/b` for `/a/b`.
 */
export function wayTo(pointer: string): readonly string[] {
  const names = pointer.split("/").slice(1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}
