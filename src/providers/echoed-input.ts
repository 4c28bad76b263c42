import { booleanAt, integerAt, textAt } from "./json-fields.ts";
import type { Metadata } from "./observation.ts";

/**
 * Reads output metadata from the input of the submit call, which some providers repeat in their reports.
 * Values that leave the choice to the model (`-1`, `auto`) become null.
 */
export function submittedMetadata(input: unknown): Metadata {
  const ratio = textAt(input, "aspect_ratio");
  return {
    seed: notNegative(integerAt(input, "seed")),
    ratio: ratio !== null && /^\d+:\d+$/.test(ratio) ? ratio : null,
    duration: notNegative(integerAt(input, "duration")),
    resolution: textAt(input, "resolution")?.toLowerCase() ?? null,
    generate_audio: booleanAt(input, "generate_audio") ?? booleanAt(input, "audio"),
  };
}

function notNegative(value: number | null): number | null {
  return value !== null && value >= 0 ? value : null;
}
