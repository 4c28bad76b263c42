import {
  type AskedEndpoint,
  DEFAULT_ENDPOINT,
  endpointIn,
} from "../../core/record/endpoint-copy.ts";
import type { Env } from "../../env.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import type { AccountObject } from "../../objects/account/account-object.ts";
import { chosenEndpoint, type StoredEndpoint } from "../../objects/account/endpoint-store.ts";
import { profileObject, relayEndpointsObject } from "../../objects/object-names.ts";
import { defaultEndpointOfAccount } from "../accounts/account-client.ts";
import { EndpointName } from "../http/fields.ts";
import { callObject } from "../http/object-call.ts";

/** Owner of endpoints: the id of an account, or null for the relay, whose endpoints are for tasks without an account. */
export type EndpointOwner = string | null;

/** Cache of the relay's endpoint for tasks that name no receiver. Null when there is none. */
const ofRelay = isolateCache<StoredEndpoint | null>(1);

/** Returns the Durable Object that stores the endpoints of an owner. */
export function endpointsObject(env: Env, owner: EndpointOwner): DurableObjectStub<AccountObject> {
  return owner === null ? relayEndpointsObject(env) : profileObject(env, owner);
}

/**
 * Returns the endpoint for the callback of a new task, as a member of its event: the one that stands in place of its
 * `callback_url` or, without a `callback_url`, the one that is the default. There is no such member when the callback
 * goes to a URL, or nowhere.
 * @param path place of the `callback_url` in the request.
 */
export async function endpointOfTask(
  callbackUrl: string | null,
  owner: EndpointOwner,
  path: string,
  env: Env,
): Promise<{ readonly endpoint?: AskedEndpoint }> {
  if (callbackUrl === null) {
    const stored = await defaultEndpoint(owner, env);
    return stored === null ? {} : { endpoint: known(stored) };
  }
  const name = endpointIn(callbackUrl);
  return name === null ? {} : { endpoint: await namedEndpoint(name, owner, path, env) };
}

/**
 * Returns an endpoint as it is now.
 * @param path place of the name in the request.
 */
export async function namedEndpoint(
  name: string,
  owner: EndpointOwner,
  path: string,
  env: Env,
): Promise<AskedEndpoint> {
  const stored = EndpointName.safeParse(name).success
    ? await callObject(() => endpointsObject(env, owner).endpoint(name))
    : null;
  return stored === null ? { kind: "unknown", field: path } : known(stored);
}

/** Removes the relay's default endpoint from this isolate's cache. Others may use their copy for up to a minute more. */
export function forgetRelayDefault(): void {
  ofRelay.delete(DEFAULT_ENDPOINT);
}

/** Returns the endpoint of tasks that name no receiver, as it was at most a minute ago. Null when there is none. */
async function defaultEndpoint(owner: EndpointOwner, env: Env): Promise<StoredEndpoint | null> {
  if (owner !== null) return await defaultEndpointOfAccount(env, owner);
  const cached = ofRelay.get(DEFAULT_ENDPOINT);
  if (cached !== undefined) return cached;
  const read = await callObject(() => relayEndpointsObject(env).endpoint(DEFAULT_ENDPOINT));
  ofRelay.set(DEFAULT_ENDPOINT, read);
  return read;
}

function known(stored: StoredEndpoint): AskedEndpoint {
  return { kind: "known", ...chosenEndpoint(stored) };
}
