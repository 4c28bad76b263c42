import { currentWorld, OPERATOR_KEY } from "./world.ts";

/** The HTTP application: answers a request with the bindings of an environment. */
export type Relay = (request: Request, env: object) => Promise<Response>;

/** Returns relays with one planted defect each, which every test of whole requests must notice. */
export function defectsOf(relay: Relay): Readonly<Record<string, Relay>> {
  /** Returns a relay whose refusals are changed. */
  const refusing =
    (change: (refusal: Response, env: object) => Response): Relay =>
    async (request, env) => {
      const response = await relay(request, env);
      return response.status < 400 ? response : change(response, env);
    };
  return {
    "answers 500 instead of refusing": refusing(() => new Response(null, { status: 500 })),
    "throws instead of refusing": refusing(() => {
      throw new TypeError("planted");
    }),
    "refuses without the reason": refusing(
      ({ status, headers }) => new Response("{}", { status, headers }),
    ),
    "refuses without the headers that say what to do": refusing((refusal) => {
      for (const name of ["WWW-Authenticate", "Allow", "Retry-After"]) refusal.headers.delete(name);
      return refusal;
    }),
    "changes what is stored at a refusal": refusing((refusal, env) => {
      currentWorld().damage(env);
      return refusal;
    }),
    "answers with a status that is not described": async (request, env) => {
      const response = await relay(request, env);
      return response.ok
        ? new Response(response.body, { status: 299, headers: response.headers })
        : response;
    },
    "takes any sender for the operator": async (request, env) => {
      request.headers.set("Authorization", `Bearer ${OPERATOR_KEY}`);
      return relay(request, env);
    },
    "calls a local address": async (request, env) => {
      await fetch("http://127.0.0.1/");
      return relay(request, env);
    },
  };
}
