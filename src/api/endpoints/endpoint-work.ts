import type * as z from "zod/mini";
import { toSeconds } from "../../core/time.ts";
import { log } from "../../lib/log.ts";
import {
  type EndpointOrder,
  MAX_ENDPOINTS,
  type PutAnswer,
  type StoredEndpoint,
} from "../../objects/account/endpoint-store.ts";
import { keyNameOf } from "../../objects/task/caller.ts";
import { endpointSecrets, publicWhpk } from "../../security/keyring.ts";
import { sealHeaders } from "../../security/sealed-headers.ts";
import { forgetAccount } from "../accounts/account-client.ts";
import { refusalOf } from "../callbacks/callback-url.ts";
import { requireSchedule } from "../callbacks/callback-schedule.ts";
import { callObject } from "../http/object-call.ts";
import { invalidRequest, Problem, unknownAccount } from "../http/problem.ts";
import type { Call } from "../operation.ts";
import { type EndpointOwner, endpointsObject, forgetRelayDefault } from "./endpoint-client.ts";
import type { EndpointSettings } from "./endpoint-schemas.ts";

// The work of the operations on endpoints of accounts (account-endpoints.ts) and on those of the relay
// (relay-endpoints.ts), which differ in their paths and permissions alone.

type Context = Pick<Call<never, unknown, unknown>, "env" | "runtime" | "caller" | "origin">;

/** The endpoint on which an operation acts. */
interface Place {
  readonly account: EndpointOwner;
  readonly name: string;
}

/** Stores an endpoint in place of the one with its name. @returns the endpoint, and whether it is new. */
export async function putEndpoint(
  place: Place,
  body: z.output<typeof EndpointSettings>,
  { env, runtime, caller, origin }: Context,
): Promise<{ readonly isNew: boolean; readonly endpoint: StoredEndpoint }> {
  const { account, name } = place;
  const { url, schedule_s: scheduleMs, events, own_secret: hasOwnSecret } = body;
  const refusal = refusalOf(url, runtime, origin, account !== null);
  if (refusal !== null) throw invalidRequest([{ path: "/url", message: refusal }]);
  requireSchedule(scheduleMs, runtime.config, "/schedule_s");
  const headers = await headersOf(body, place, runtime);
  const order = { name, url, scheduleMs, events, headers, hasOwnSecret };
  const answer = await callObject<PutAnswer | null>(() =>
    endpointsObject(env, account).putEndpoint(order),
  );
  if (answer === null) throw unknownAccount();
  if (answer.kind === "full") throw full();
  if (answer.kind === "unkept") throw unkept();
  noteChange("endpoint.change", place, caller);
  return answer;
}

/** Returns the headers of an endpoint as its order states them: encrypted, kept, or none. */
async function headersOf(
  { headers, keep_headers: keepsHeaders }: z.output<typeof EndpointSettings>,
  place: Place,
  { keyring }: Context["runtime"],
): Promise<EndpointOrder["headers"]> {
  if (keepsHeaders) return "kept";
  if (Object.keys(headers).length === 0) return null;
  return await sealHeaders(headers, place, keyring.headerKeys);
}

/** Deletes an endpoint, if there is one. */
export async function deleteEndpoint(place: Place, { env, caller }: Context): Promise<void> {
  const { account, name } = place;
  const isKnown = await callObject(() => endpointsObject(env, account).deleteEndpoint(name));
  if (!isKnown) throw unknownAccount();
  noteChange("endpoint.delete", place, caller);
}

/** Returns an endpoint. @throws Problem `not_found` when there is none with this name. */
export async function readEndpoint(
  { account, name }: Place,
  { env }: Pick<Context, "env">,
): Promise<StoredEndpoint> {
  return requireFound(await callObject(() => endpointsObject(env, account).endpoint(name)));
}

/** Returns all endpoints of an owner, in the order of their names. */
export async function listEndpoints(
  account: EndpointOwner,
  { env }: Pick<Context, "env">,
): Promise<readonly StoredEndpoint[]> {
  const endpoints = await callObject(() => endpointsObject(env, account).endpoints());
  if (endpoints === null) throw unknownAccount();
  return endpoints;
}

/**
 * Rotates the secret of an endpoint.
 * @param seen generation that the request replaces. If it is not the present one, nothing changes. Null rotates in any
 * case.
 */
export async function rotateEndpointSecret(
  place: Place,
  seen: number | null,
  context: Context,
): Promise<EndpointSecrets> {
  const { account, name } = place;
  const rotated = await callObject(() =>
    endpointsObject(context.env, account).rotateEndpointSecret(name, seen),
  );
  const secrets = await secretsOf(requireFound(rotated), context);
  const { generation } = secrets;
  const line = { endpoint: name, generation, by: keyNameOf(context.caller) };
  log({ event: "secret.rotate", ...(account !== null && { account }), ...line });
  forgetDefault(account);
  return secrets;
}

/** Secrets with which the callbacks of an endpoint are signed, newest first. */
export type EndpointSecrets = Awaited<ReturnType<typeof secretsOf>>;

/**
 * Returns the secrets with which the callbacks of an endpoint are signed.
 * @throws Problem `not_found` when it has none of its own.
 */
export async function secretsOf(
  { secret }: StoredEndpoint,
  { runtime: { config, keyring } }: Pick<Context, "runtime">,
) {
  if (secret === null) {
    const detail = "The endpoint has no secret of its own: that of the account or the relay signs.";
    throw new Problem("not_found", { detail });
  }
  const { generation } = secret;
  const current = generation > 1 ? [generation, generation - 1] : [generation];
  const secrets = await endpointSecrets(config, secret, current);
  return {
    generation,
    callbacks: secrets.map(({ text }) => text),
    public_keys: keyring.signingKeys.map(publicWhpk),
  };
}

/** Returns an endpoint as the API shows it: of its headers only the names. */
export function endpointView(endpoint: StoredEndpoint) {
  const { name, url, headers, scheduleMs, events, secret, createdAt, changedAt } = endpoint;
  return {
    name,
    url,
    headers: headers?.names ?? [],
    schedule_s: scheduleMs?.map(toSeconds) ?? null,
    events,
    own_secret: secret !== null,
    created_at: toSeconds(createdAt),
    changed_at: toSeconds(changedAt),
  };
}

function noteChange(event: string, { account, name }: Place, caller: Context["caller"]): void {
  forgetDefault(account);
  const owner = account === null ? {} : { account };
  log({ event, ...owner, endpoint: name, by: keyNameOf(caller) });
}

/** Removes the default endpoint of an owner from this isolate's cache. */
function forgetDefault(account: EndpointOwner): void {
  if (account === null) forgetRelayDefault();
  else forgetAccount(account);
}

function requireFound(endpoint: StoredEndpoint | null): StoredEndpoint {
  if (endpoint !== null) return endpoint;
  throw new Problem("not_found", { detail: "There is no endpoint with this name." });
}

function full(): Problem {
  const detail = `There are ${MAX_ENDPOINTS} endpoints already. Delete one first.`;
  return new Problem("endpoints_full", { detail });
}

function unkept(): Problem {
  const message = "can be true only when the endpoint has headers and its url stays as it is";
  return invalidRequest([{ path: "/keep_headers", message }]);
}
