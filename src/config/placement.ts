/** Jurisdictions in which the platform can keep objects. */
export const JURISDICTIONS = ["eu", "us", "fedramp"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** Regions near which the platform can create objects. */
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const;
export type LocationHint = (typeof LOCATION_HINTS)[number];

/** Where the objects live. */
export interface Placement {
  /** Null means that the platform chooses. Decided before the first task, because names mean other objects in each. */
  readonly jurisdiction: Jurisdiction | null;
  /** Applies when an object is created. Null means near whoever calls it first. */
  readonly locationHint: LocationHint | null;
}
