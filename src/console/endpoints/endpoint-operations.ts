import {
  deleteAccountEndpoint,
  listAccountEndpoints,
  putAccountEndpoint,
  readAccountEndpoint,
  readAccountEndpointSecrets,
  rotateAccountEndpointSecrets,
} from "../../api/endpoints/account-endpoints.ts";
import type { EndpointOwner } from "../../api/endpoints/endpoint-client.ts";
import {
  deleteRelayEndpoint,
  listRelayEndpoints,
  putRelayEndpoint,
  readRelayEndpoint,
  readRelayEndpointSecrets,
  rotateRelayEndpointSecrets,
} from "../../api/endpoints/relay-endpoints.ts";
import { may } from "../../objects/task/caller.ts";
import type { ViewerVisit } from "../http/page.ts";

// The operations on endpoints, by the owner of the endpoint: an account or the relay.

/** An endpoint that a page is about. */
export interface Place {
  readonly account: EndpointOwner;
  readonly name: string;
}

type Visit = ViewerVisit<unknown>;

export function listOf(account: EndpointOwner, visit: Visit) {
  return account === null
    ? listRelayEndpoints.perform({ params: {} }, visit.viewer, visit)
    : listAccountEndpoints.perform({ params: { account } }, visit.viewer, visit);
}

export function readOf({ account, name: endpoint }: Place, visit: Visit) {
  return account === null
    ? readRelayEndpoint.perform({ params: { endpoint } }, visit.viewer, visit)
    : readAccountEndpoint.perform({ params: { account, endpoint } }, visit.viewer, visit);
}

/** @param body settings of the endpoint, which the operation checks. */
export function putOf({ account, name: endpoint }: Place, body: object, visit: Visit) {
  return account === null
    ? putRelayEndpoint.perform({ params: { endpoint }, body }, visit.viewer, visit)
    : putAccountEndpoint.perform({ params: { account, endpoint }, body }, visit.viewer, visit);
}

export function deleteOf({ account, name: endpoint }: Place, visit: Visit) {
  return account === null
    ? deleteRelayEndpoint.perform({ params: { endpoint } }, visit.viewer, visit)
    : deleteAccountEndpoint.perform({ params: { account, endpoint } }, visit.viewer, visit);
}

/** Returns the secrets of an endpoint that has some of its own. Null for a viewer who may not see them. */
export function secretsOf({ account, name: endpoint }: Place, visit: Visit) {
  const { viewer } = visit;
  if (account === null) {
    if (!may(viewer, "administer")) return null;
    return readRelayEndpointSecrets.perform({ params: { endpoint } }, viewer, visit);
  }
  if (!may(viewer, "secrets")) return null;
  return readAccountEndpointSecrets.perform({ params: { account, endpoint } }, viewer, visit);
}

/** @param body the generation of the secret that the form has shown. */
export function rotateOf({ account, name: endpoint }: Place, body: object, visit: Visit) {
  return account === null
    ? rotateRelayEndpointSecrets.perform({ params: { endpoint }, body }, visit.viewer, visit)
    : rotateAccountEndpointSecrets.perform(
        { params: { account, endpoint }, body },
        visit.viewer,
        visit,
      );
}
