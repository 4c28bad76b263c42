import { drive } from "./scenario.ts";

/** Worker that uses the client as scenario.ts describes, with the input in the body. */
export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method !== "POST") return new Response("ready");
    const input: Parameters<typeof drive>[0] = JSON.parse(await request.text());
    return Response.json(await drive(input));
  },
};
