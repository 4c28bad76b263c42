import { ratioIn, ratioOf, resolutionIn } from "../../core/output-metadata/pixels.ts";
import { booleanAt, firstAt, integerAt, numberAt, seedAt, textAt } from "../json-fields.ts";
import type { Metadata } from "../observation.ts";

/**
 * Names that providers use for the length of an output in seconds. Names for the actual length come before names for
 * the requested one.
 */
const DURATIONS = [
  "output_video_duration",
  "video_output_duration_seconds",
  "duration_seconds",
  "duration",
  "video_duration",
  "seconds",
];

/**
 * Returns the output metadata that objects of a report state. For each field the first object that states it counts, so
 * the caller must give objects about the actual output before those that repeat the request. A value that leaves the
 * choice to the model (`-1`, `adaptive`, a duration of 0) counts as not stated.
 */
export function statedMetadata(...places: readonly unknown[]): Metadata {
  return firstStated(...places.map(metadataIn));
}

/** Returns output metadata in which each field comes from the first of the given objects that has it. */
export function firstStated(...all: readonly Metadata[]): Metadata {
  const first = <Name extends keyof Metadata>(name: Name) =>
    all.map((metadata) => metadata[name]).find((value) => value != null) ?? null;
  return {
    seed: first("seed"),
    ratio: first("ratio"),
    duration: first("duration"),
    resolution: first("resolution"),
    generate_audio: first("generate_audio"),
    framespersecond: first("framespersecond"),
  };
}

function metadataIn(place: unknown): Metadata {
  // The sides give no resolution: encoders round them, and prices may have a rate for each usual resolution.
  const frame = ratioOf(numberAt(place, "width"), numberAt(place, "height"));
  return {
    seed: seedIn(place),
    ratio: firstAt(place, ["ratio", "aspect_ratio", "size"], ratioAt) ?? frame,
    duration: atLeast(1, firstAt(place, DURATIONS, integerAt)),
    resolution: firstAt(place, ["resolution", "resolution_target", "size"], resolutionAt),
    generate_audio: firstAt(place, ["generate_audio", "audio"], booleanAt),
    framespersecond: atLeast(1, firstAt(place, ["framespersecond", "fps"], integerAt)),
  };
}

function seedIn(place: unknown): number | string | null {
  const seed = seedAt(place, "seed");
  return typeof seed === "number" ? atLeast(0, seed) : seed;
}

function ratioAt(place: unknown, name: string): string | null {
  return ratioIn(textAt(place, name) ?? "");
}

function resolutionAt(place: unknown, name: string): string | null {
  return resolutionIn(textAt(place, name) ?? "");
}

function atLeast(min: number, value: number | null): number | null {
  return value !== null && value >= min ? value : null;
}
