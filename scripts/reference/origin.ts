/**
 * Origin (scheme and host) of a relay in the examples of openapi.json, and so in the pages. The script of the pages
 * (`client/reference.js`) replaces it by that of the relay that serves them.
 */
export const EXAMPLE_ORIGIN = "https://relay.example.com";
