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

// The endpoints of accounts: named receivers of the callbacks of their tasks.

const COUNTED = { access: "endpoints", rateLimit: "LIMIT_LISTS" } as const;
const PATH = "/v1/accounts/{account}/endpoints/{endpoint}";

/** Creates or replaces an endpoint of an account. */
export const putAccountEndpoint = operation(
  "putAccountEndpoint",
  { ...COUNTED, params: ["account", "endpoint"], query: NoQuery, body: EndpointSettings },
  async (call) => await putEndpoint(placeOf(call), call.body, call),
);

export const putAccountEndpointRoute = routeOf(
  { method: "PUT", path: PATH },
  putAccountEndpoint,
  ({ isNew, endpoint }) => json(endpointView(endpoint), isNew ? 201 : 200),
);

/** Reads an endpoint of an account, without the values of its headers. */
export const readAccountEndpoint = operation(
  "readAccountEndpoint",
  { ...COUNTED, params: ["account", "endpoint"], query: NoQuery, body: NoBody },
  async (call) => await readEndpoint(placeOf(call), call),
);

export const readAccountEndpointRoute = routeOf(
  { method: "GET", path: PATH },
  readAccountEndpoint,
  (endpoint) => json(endpointView(endpoint)),
);

/** Lists the endpoints of an account, in the order of their names. */
export const listAccountEndpoints = operation(
  "listAccountEndpoints",
  { ...COUNTED, params: ["account"], query: NoQuery, body: NoBody },
  async (call) => await listEndpoints(call.params.account, call),
);

export const listAccountEndpointsRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/endpoints" },
  listAccountEndpoints,
  (endpoints) => json({ data: endpoints.map(endpointView) }),
);

/** Deletes an endpoint of an account. Tasks that have it keep their copy. */
export const deleteAccountEndpoint = operation(
  "deleteAccountEndpoint",
  { ...COUNTED, params: ["account", "endpoint"], query: NoQuery, body: NoBody },
  async (call) => {
    await deleteEndpoint(placeOf(call), call);
  },
);

export const deleteAccountEndpointRoute = routeOf(
  { method: "DELETE", path: PATH },
  deleteAccountEndpoint,
  () => new Response(null, { status: 204 }),
);

/** Reads the secrets with which the callbacks of an endpoint of an account are signed. */
export const readAccountEndpointSecrets = operation(
  "readAccountEndpointSecrets",
  { access: "secrets", params: ["account", "endpoint"], query: NoQuery, body: NoBody },
  async (call) => await secretsOf(await readEndpoint(placeOf(call), call), call),
);

export const readAccountEndpointSecretsRoute = routeOf(
  { method: "GET", path: `${PATH}/signing-secrets` },
  readAccountEndpointSecrets,
  (secrets) => json(secrets),
);

/** Creates a new secret with which the callbacks of an endpoint of an account are signed. */
export const rotateAccountEndpointSecrets = operation(
  "rotateAccountEndpointSecrets",
  { access: "administer", params: ["account", "endpoint"], query: NoQuery, body: Rotation },
  async (call) => await rotateEndpointSecret(placeOf(call), call.body.generation, call),
);

export const rotateAccountEndpointSecretsRoute = routeOf(
  { method: "POST", path: `${PATH}/signing-secrets` },
  rotateAccountEndpointSecrets,
  (secrets) => json(secrets),
);

function placeOf({
  params,
}: {
  readonly params: { readonly account: string; readonly endpoint: string };
}) {
  return { account: params.account, name: params.endpoint };
}
