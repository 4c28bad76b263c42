import type { Parameter } from "./route.openapi.ts";

/** Returns the description of a list's parameter `limit`, which sets the largest number of entries on a page. */
export function limit(max: number, fallback: number): Parameter {
  return {
    description: "Largest number of entries on the page.",
    integer: { min: 1, max, fallback },
  };
}
