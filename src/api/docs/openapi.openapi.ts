import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { AnyObject } from "../shapes/described.ts";

export const readOpenApiDescription = {
  audience: "client",
  summary: "Read this description of the API (OpenAPI 3.1)",
  details: "The callbacks and operator events are its `webhooks`.",
  answers: {
    200: jsonAnswer("the description", AnyObject, { openapi: "3.1.1" }),
  },
  problems: [],
} as const satisfies RouteDescription;
