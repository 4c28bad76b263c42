import { json } from "../http/answer.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { Rotation } from "../accounts/account-schemas.ts";
import { EndpointSettings } from "./endpoint-schemas.ts";
import {
  deleteEndpoint,
  endpointView,
  listEndpoints,
  putEndpoint,
  readEndpoint,
  rotateEndpointSecret,
  secretsOf,
} from "./endpoint-work.ts";

// The endpoints of the relay itself: named receivers of the callbacks of tasks without an account.

const PATH = "/v1/endpoints/{endpoint}";

/** Creates or replaces an endpoint of the relay. */
export const putRelayEndpoint = operation(
  "putRelayEndpoint",
  { access: "operate", params: ["endpoint"], query: NoQuery, body: EndpointSettings },
  async (call) => await putEndpoint(placeOf(call), call.body, call),
);

export const putRelayEndpointRoute = routeOf(
  { method: "PUT", path: PATH },
  putRelayEndpoint,
  ({ isNew, endpoint }) => json(endpointView(endpoint), isNew ? 201 : 200),
);

/** Reads an endpoint of the relay, without the values of its headers. */
export const readRelayEndpoint = operation(
  "readRelayEndpoint",
  { access: "operate", params: ["endpoint"], query: NoQuery, body: NoBody },
  async (call) => await readEndpoint(placeOf(call), call),
);

export const readRelayEndpointRoute = routeOf(
  { method: "GET", path: PATH },
  readRelayEndpoint,
  (endpoint) => json(endpointView(endpoint)),
);

/** Lists the endpoints of the relay, in the order of their names. */
export const listRelayEndpoints = operation(
  "listRelayEndpoints",
  { access: "operate", query: NoQuery, body: NoBody },
  async (call) => await listEndpoints(null, call),
);

export const listRelayEndpointsRoute = routeOf(
  { method: "GET", path: "/v1/endpoints" },
  listRelayEndpoints,
  (endpoints) => json({ data: endpoints.map(endpointView) }),
);

/** Deletes an endpoint of the relay. Tasks that have it keep their copy. */
export const deleteRelayEndpoint = operation(
  "deleteRelayEndpoint",
  { access: "operate", params: ["endpoint"], query: NoQuery, body: NoBody },
  async (call) => {
    await deleteEndpoint(placeOf(call), call);
  },
);

export const deleteRelayEndpointRoute = routeOf(
  { method: "DELETE", path: PATH },
  deleteRelayEndpoint,
  () => new Response(null, { status: 204 }),
);

/** Reads the secrets with which the callbacks of an endpoint of the relay are signed. */
export const readRelayEndpointSecrets = operation(
  "readRelayEndpointSecrets",
  { access: "administer", params: ["endpoint"], query: NoQuery, body: NoBody },
  async (call) => await secretsOf(await readEndpoint(placeOf(call), call), call),
);

export const readRelayEndpointSecretsRoute = routeOf(
  { method: "GET", path: `${PATH}/signing-secrets` },
  readRelayEndpointSecrets,
  (secrets) => json(secrets),
);

/** Creates a new secret with which the callbacks of an endpoint of the relay are signed. */
export const rotateRelayEndpointSecrets = operation(
  "rotateRelayEndpointSecrets",
  { access: "administer", params: ["endpoint"], query: NoQuery, body: Rotation },
  async (call) => await rotateEndpointSecret(placeOf(call), call.body.generation, call),
);

export const rotateRelayEndpointSecretsRoute = routeOf(
  { method: "POST", path: `${PATH}/signing-secrets` },
  rotateRelayEndpointSecrets,
  (secrets) => json(secrets),
);

function placeOf({ params }: { readonly params: { readonly endpoint: string } }) {
  return { account: null, name: params.endpoint };
}
