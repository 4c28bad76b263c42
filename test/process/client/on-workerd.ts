import { drive } from "./scenario.ts";

/** Bindings of the Worker. */
interface Bindings {
  /** Entrypoint `Relay` of the relay. Absent for a Worker that calls the relay over HTTP. */
  readonly RELAY?: { readonly fetch: (request: Request) => Promise<Response> };
}

/** Worker that uses the client as scenario.ts describes, with the input in the body. */
export default {
  async fetch(request: Request, { RELAY }: Bindings): Promise<Response> {
    if (request.method !== "POST") return new Response("ready");
    const input: Parameters<typeof drive>[0] = JSON.parse(await request.text());
    const bound = RELAY === undefined ? null : (call: Request) => RELAY.fetch(call);
    return Response.json(await drive(input, bound));
  },
};
