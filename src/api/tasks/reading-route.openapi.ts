import type { Parameter } from "../http/route.openapi.ts";

/**
 * Description of the query parameter `token`, for routes that accept a status token (the token in the status link of a
 * task) instead of a key.
 */
export const STATUS_TOKEN: Parameter = {
  description:
    "Status token of the task, from `status_url`. Not together with the header `Authorization`.",
  example: "st_1767225600_1767398400_1767225600012_3q2-7w",
};

/**
 * Header of a response to a request with a status token (the token in the status link of a task). It lets pages of
 * other sites read the response.
 */
export const LINKED = { "Access-Control-Allow-Origin": "sometimes" } as const;
