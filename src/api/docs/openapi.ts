import { json } from "../http/answer.ts";
import { publicRoute } from "../http/route.ts";

/** Serves the description of the API (openapi.json), which is loaded when it is first asked for. */
export const readOpenApi = publicRoute(
  { id: "readOpenApi", method: "GET", path: "/openapi.json" },
  async () => {
    const { default: document } = await import("../../../openapi.json", { with: { type: "json" } });
    return json(document, 200, { "Cache-Control": "public, max-age=300" });
  },
);
