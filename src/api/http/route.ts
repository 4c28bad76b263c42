import type * as z from "zod/mini";
import type { Env } from "../../env.ts";
import { accountOf, type Caller } from "../../task-object/caller.ts";
import { placedRuntimeOf } from "../../objects/placed-runtime.ts";
import { describeIssues } from "../../config/issue.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Permission } from "../../security/roles.ts";
import { authenticate, type Access, requirePermission } from "./auth.ts";
import { readBody, readJson, validate } from "./body.ts";
import { type PathParams, paramsReader } from "./path.ts";
import { type AccountLimit, countRequest } from "./rate-limit.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "./problem.ts";
import { NoQuery, readQuery } from "./query.ts";
import { AccountId, TaskId } from "./fields.ts";

/**
 * A route of the HTTP API: a method and path, what its requests need, and their handler. The texts for its
 * documentation are in scripts/openapi/description. Hono only finds the route and runs the middleware, because handlers
 * in Hono's own types would have to declare paths and bodies a second time.
 */
export interface Route<Id extends string = string> {
  /** Name of the operation, by which its description (scripts/openapi/description) and generated clients call it. */
  readonly id: Id;
  readonly method: "GET" | "POST" | "DELETE";
  /** Path of the route, with `{id}` for a task and `{account}` for an account. */
  readonly path: string;
  readonly access: Access;
  /**
   * Permission that suffices for a request with `?dry_run=true`, which only counts; absent for a route
   * without this parameter.
   */
  readonly dryRunAccess?: Permission;
  /** Rate limit that counts the requests of accounts to this route; absent where none does. */
  readonly rateLimit?: AccountLimit;
  /**
   * States that the route also takes a status token (the token in the status link of a task) in place of a
   * key, and then lets pages of other sites read the answer; absent for other routes.
   */
  readonly takesStatusToken?: true;
  /** Schema of the query; null for a public route, which ignores its query. */
  readonly query: z.ZodMiniObject | null;
  readonly body: z.ZodMiniType | null;
  readonly handle: (call: RouteRequest<Params>) => Promise<Response>;
}

/** A route that only a caller with a permission may use. */
export interface ProtectedRoute<Id extends string = string> extends Route<Id> {
  readonly access: Permission;
  /**
   * Handles a request from a caller who has been authenticated in another way than by the headers of the
   * request, e.g. by a service binding. Permission, path, query and body are checked as by `handle`.
   * @param counted rate limit that has already counted this request, and does not count it again.
   */
  readonly handleFrom: (
    caller: Caller,
    call: RouteRequest<Params>,
    counted?: AccountLimit,
  ) => Promise<Response>;
}

/** Parameters of a path, as the text that was received, not yet checked. */
type Params = Readonly<Record<string, string>>;

/** A request with the parameters of its path, not yet authenticated. */
export interface RouteRequest<P> {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  readonly params: P;
}

/**
 * A request whose caller is authenticated, on a relay whose configuration is valid. The task id and the
 * account id in its path have been checked.
 */
export interface AuthenticatedRequest<P, Query = unknown, Body = unknown> extends RouteRequest<P> {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly query: Query;
  readonly body: Body;
  /** Origin (scheme and host) to which the caller sent the request. */
  readonly origin: string;
}

type Declared = "path" | "access" | "query" | "body" | "handle";
type RouteInfo<Id extends string, Path> = Omit<Route<Id>, Declared> & { readonly path: Path };
type ProtectedRouteInfo<Id extends string, Path> = RouteInfo<Id, Path> & {
  readonly access: Permission;
};
type Handler<Path extends string, Query, Body> = (
  call: AuthenticatedRequest<PathParams<Path>, Query, Body>,
) => Promise<Response>;

/**
 * Declares a route that anyone may call without a key, and that must work also while the configuration is not
 * valid.
 */
export function publicRoute<Id extends string, Path extends string>(
  info: RouteInfo<Id, Path>,
  handle: (call: RouteRequest<PathParams<Path>>) => Promise<Response>,
): Route<Id> {
  const readParams = paramsReader(info.path);
  return {
    ...info,
    access: "anyone",
    query: null,
    body: null,
    handle: (call) => handle({ ...call, params: readParams(call.params) }),
  };
}

/** Declares a route that needs a key and takes neither a body nor parameters in its query. */
export function route<Id extends string, Path extends string>(
  info: ProtectedRouteInfo<Id, Path>,
  handle: Handler<Path, object, null>,
): ProtectedRoute<Id> {
  return guarded(info, NoQuery, NO_BODY, handle);
}

/** Declares a route that needs a key and takes parameters in its query, but no body. */
export function queryRoute<Id extends string, Path extends string, Q extends z.ZodMiniObject>(
  info: ProtectedRouteInfo<Id, Path>,
  query: Q,
  handle: Handler<Path, z.output<Q>, null>,
): ProtectedRoute<Id> {
  return guarded(info, query, NO_BODY, handle);
}

/** Declares a route that needs a key or a signature and takes a JSON body. An empty body is read as `{}`. */
export function bodyRoute<Id extends string, Path extends string, S extends z.ZodMiniType>(
  info: ProtectedRouteInfo<Id, Path>,
  body: S,
  handle: Handler<Path, object, z.output<S>>,
): ProtectedRoute<Id> {
  return guarded(info, NoQuery, jsonBody(body), handle);
}

/** Declares a route that needs a key and takes both parameters in its query and a JSON body. */
export function queryBodyRoute<
  Id extends string,
  Path extends string,
  Q extends z.ZodMiniObject,
  S extends z.ZodMiniType,
>(
  info: ProtectedRouteInfo<Id, Path>,
  query: Q,
  body: S,
  handle: Handler<Path, z.output<Q>, z.output<S>>,
): ProtectedRoute<Id> {
  return guarded(info, query, jsonBody(body), handle);
}

type RawBody = () => Promise<Uint8Array<ArrayBuffer>>;

/**
 * The body that the requests of a route have: its schema, or null for no body, and the function that reads
 * it.
 */
interface BodyReader<Body> {
  readonly schema: z.ZodMiniType | null;
  readonly read: (rawBody: RawBody) => Promise<Body>;
}

const NO_BODY: BodyReader<null> = { schema: null, read: async () => null };

function jsonBody<S extends z.ZodMiniType>(schema: S): BodyReader<z.output<S>> {
  const read = async (rawBody: RawBody) => {
    const bytes = await rawBody();
    return validate(schema, bytes.length === 0 ? {} : readJson(bytes));
  };
  return { schema, read };
}

/** Function that returns the caller of a request, or throws when the caller lacks the permission. */
type Identify = typeof authenticate;

function guarded<Id extends string, Path extends string, Q extends z.ZodMiniObject, Body>(
  info: ProtectedRouteInfo<Id, Path>,
  querySchema: Q,
  bodyReader: BodyReader<Body>,
  handle: Handler<Path, z.output<Q>, Body>,
): ProtectedRoute<Id> {
  const { access, dryRunAccess, rateLimit } = info;
  const readParams = paramsReader(info.path);
  const handleBy = async (
    identify: Identify,
    call: RouteRequest<Params>,
    counted?: AccountLimit,
  ) => {
    const { request, env, url } = call;
    const runtime = await requireRuntime(env);
    let read: ReturnType<RawBody> | null = null;
    const rawBody = () => (read ??= readBody(request, runtime.config.maxBodyBytes));
    const isDryRun = url.searchParams.get("dry_run") === "true";
    const permission = isDryRun ? (dryRunAccess ?? access) : access;
    const caller = await identify(permission, request.headers, rawBody, runtime, env);
    if (rateLimit !== undefined && rateLimit !== counted) {
      await countRequest(rateLimit, caller, env);
    }
    const params = readParams(checkedParams(call.params, caller));
    const query = readQuery(querySchema, url.searchParams);
    const body = await bodyReader.read(rawBody);
    return handle({ ...call, params, runtime, caller, query, body, origin: url.origin });
  };
  return {
    ...info,
    query: querySchema,
    body: bodyReader.schema,
    handle: (call) => handleBy(authenticate, call),
    handleFrom: (caller, call, counted) =>
      handleBy(async (permission) => requirePermission(caller, permission), call, counted),
  };
}

/**
 * Returns the configuration and keys of the relay.
 * @throws Problem `not_configured`, which names the invalid variables.
 */
export async function requireRuntime(env: Env): Promise<Runtime> {
  const result = await placedRuntimeOf(env);
  if (result.ok) return result.value;
  const headers = { "Retry-After": "60" };
  throw new Problem("not_configured", { detail: describeIssues(result.error), headers });
}

/** Checks the account id and the task id in a path, before any Durable Object is called. */
function checkedParams(params: Params, caller: Caller): Params {
  const { account, id } = params;
  return {
    ...params,
    ...(account !== undefined && { account: requireAccountId(account, caller) }),
    ...(id !== undefined && { id: requireTaskId(id) }),
  };
}

/**
 * Checks the account id in a path, and returns it.
 * @throws Problem `not_found` when an account asks for another account; `invalid_request` when the text is no
 * account id.
 */
function requireAccountId(param: string, caller: Caller): string {
  const own = accountOf(caller);
  if (own !== null && own !== param) throw unknownAccount();
  const parsed = AccountId.safeParse(param);
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.map(({ message }) => ({ path: "/account", message })));
}

/**
 * Checks the task id in a path, and returns it in lower case.
 * @throws Problem `unknown_task` when the text is no task id; the answer is the same as for a task that does
 * not exist.
 */
function requireTaskId(param: string): string {
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}
