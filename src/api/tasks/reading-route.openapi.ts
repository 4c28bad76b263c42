import type { Parameter } from "../http/route.openapi.ts";

/**
 * Parameter `token` of the routes that take a status token (the token in the status link of a task) in place
 * of a key.
 */
export const STATUS_TOKEN: Parameter = {
  description:
    "Status token of the task, from `status_url`. Not together with the header `Authorization`.",
  example: "st_1767225600_1767398400_1767225600012_3q2-7w",
};

/**
 * Header of an answer to a caller with a status token (the token in the status link of a task): it lets pages
 * of other sites read the answer.
 */
export const LINKED = { "Access-Control-Allow-Origin": "sometimes" } as const;
