import { booleanAt, integerAt, textAt } from "../json-fields.ts";
import type { Metadata } from "../observation.ts";

/**
 * Returns output metadata from the input of the submit call, which some providers repeat in their reports. A value
 * that leaves the choice to the model (`-1`) becomes null.
 */
export function submittedMetadata(input: unknown): Metadata {
  return {
    seed: notNegative(integerAt(input, "seed")),
    ratio: textAt(input, "aspect_ratio") ?? textAt(input, "size"),
    duration: notNegative(integerAt(input, "duration")),
    resolution: textAt(input, "resolution"),
    generate_audio: booleanAt(input, "generate_audio") ?? booleanAt(input, "audio"),
  };
}

function notNegative(value: number | null): number | null {
  return value !== null && value >= 0 ? value : null;
}
