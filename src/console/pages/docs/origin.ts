/** Placeholder for the origin (scheme and host) of the relay in the rendered reference of the API. */
export const ORIGIN = "https://origin.invalid";
