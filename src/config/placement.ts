/** Jurisdictions in which Cloudflare can store Durable Objects. */
export const JURISDICTIONS = ["eu", "us", "fedramp"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** Regions near which Cloudflare can create Durable Objects. */
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

/** Where Cloudflare stores the Durable Objects of the relay. */
export interface Placement {
  /**
   * Jurisdiction of all Durable Objects. It must be chosen before the first task, because in each jurisdiction the same
   * name leads to another object. Null when the objects are in no jurisdiction.
   */
  readonly jurisdiction: Jurisdiction | null;
  /** Region near which a new Durable Object is created. Null means that it is created near its first caller. */
  readonly locationHint: LocationHint | null;
}
