import type { ZodOpenApiPathsObject } from "zod-openapi";

/** The operation that reads the file `/openapi.json` of `public`. It is described here, because no route answers it. */
export const OPENAPI_FILE: ZodOpenApiPathsObject = {
  "/openapi.json": {
    get: {
      operationId: "readOpenApi",
      tags: ["client"],
      summary: "Read this description of the API (OpenAPI 3.1)",
      description: "The callbacks and operator events are its `webhooks`. Needs no key.",
      security: [],
      responses: {
        200: {
          description: "the description",
          headers: {
            ETag: {
              description:
                "Version of the description, for `If-None-Match`: the answer is 304 while it is the current one.",
              required: true,
              schema: { type: "string" },
            },
            "Cache-Control": { $ref: "#/components/headers/Cache-Control" },
          },
          content: {
            "application/json": {
              schema: { type: "object", additionalProperties: {} },
              example: { openapi: "3.1.1" },
            },
          },
        },
      },
      "x-access": "anyone",
      "x-problems": [],
    },
  },
};
