import openapi from "../../../openapi.json" with { type: "json" };
import { json } from "../http/answer.ts";
import { publicRoute } from "../http/route.ts";

/** Returns the OpenAPI description of the API. */
export const readOpenApi = publicRoute(
  { id: "readOpenApi", method: "GET", path: "/openapi.json" },
  async () => json(openapi, 200, { "Cache-Control": "public, max-age=300" }),
);
