import type * as z from "zod";
import type { Env } from "../../env.ts";
import { accountOf, type Caller } from "../../task/caller.ts";
import { placedRuntimeOf } from "../../account/placed-runtime.ts";
import { describeIssues } from "../../config/issue.ts";
import type { Runtime } from "../../config/runtime.ts";
import { authenticate, type Access } from "./auth.ts";
import { readBody, readJson, validate } from "./body.ts";
import { type PathParams, paramsOf } from "./path.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "./problem.ts";
import type { ProblemCode } from "./problem-list.ts";
import { AccountId, TaskId } from "./fields.ts";

/**
 * A row of the route table: a method and path, its description and its handler. Descriptions of the API are
 * derived from the table. Hono is only the router and the middleware: typed Hono handlers would state
 * paths, bodies and answers a second time.
 */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path of the route, with `{id}` for a task and `{account}` for an account. */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly body: z.ZodType | null;
  /** Description of each answer that is not a problem, by HTTP status. */
  readonly answers: Readonly<Record<number, string>>;
  /** Problems of this route, besides those of authentication, body and platform, which all routes share. */
  readonly errors: readonly ProblemCode[];
  readonly handle: (call: RouteRequest<Params>) => Promise<Response>;
}

/** Parameters of a path as received, not validated. */
type Params = Readonly<Record<string, string>>;

/** A request that the router has matched. */
export interface RouteRequest<P> {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  readonly params: P;
}

/** A request whose caller is authenticated, on a configured relay. Its `id` and `account` are valid. */
export interface AuthenticatedRequest<P, Body = unknown> extends RouteRequest<P> {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly body: Body;
  /** Origin of the relay as the caller addressed it. */
  readonly origin: string;
}

type RouteInfo<Path> = Omit<Route, "path" | "access" | "body" | "handle"> & { readonly path: Path };
type ProtectedRouteInfo<Path> = RouteInfo<Path> & { readonly access: Exclude<Access, "anyone"> };
type Handler<Path extends string, Body> = (
  call: AuthenticatedRequest<PathParams<Path>, Body>,
) => Promise<Response>;

/** Declares a route without authentication, which must also work while the relay is not configured. */
export function publicRoute<Path extends string>(
  info: RouteInfo<Path>,
  handle: (call: RouteRequest<PathParams<Path>>) => Promise<Response>,
): Route {
  return {
    ...info,
    access: "anyone",
    body: null,
    handle: (call) => handle({ ...call, params: paramsOf(info.path, call.params) }),
  };
}

/** Declares a route with authentication and without a body. */
export function route<Path extends string>(
  info: ProtectedRouteInfo<Path>,
  handle: Handler<Path, null>,
): Route {
  return { ...info, body: null, handle: guarded(info, async () => null, handle) };
}

/** Declares a route with authentication and a JSON body. An empty body is read as `{}`. */
export function bodyRoute<Path extends string, S extends z.ZodType>(
  info: ProtectedRouteInfo<Path>,
  schema: S,
  handle: Handler<Path, z.output<S>>,
): Route {
  const read = async (rawBody: RawBody) => {
    const bytes = await rawBody();
    return validate(schema, bytes.length === 0 ? {} : readJson(bytes));
  };
  return { ...info, body: schema, handle: guarded(info, read, handle) };
}

type RawBody = () => Promise<Uint8Array<ArrayBuffer>>;

function guarded<Path extends string, Body>(
  { access, path }: ProtectedRouteInfo<Path>,
  bodyFrom: (rawBody: RawBody) => Promise<Body>,
  handle: Handler<Path, Body>,
): Route["handle"] {
  return async (call) => {
    const { request, env, url } = call;
    const runtime = await requireRuntime(env);
    let read: ReturnType<RawBody> | null = null;
    const rawBody = () => (read ??= readBody(request, runtime.config.maxBodyBytes));
    const caller = await authenticate(access, request.headers, rawBody, runtime, env);
    const params = paramsOf(path, checkedParams(call.params, caller));
    const body = await bodyFrom(rawBody);
    return handle({ ...call, params, runtime, caller, body, origin: url.origin });
  };
}

/** Returns the configuration and keys. @throws Problem `not_configured`, which names the invalid variables. */
export async function requireRuntime(env: Env): Promise<Runtime> {
  const result = await placedRuntimeOf(env);
  if (result.ok) return result.value;
  const headers = { "Retry-After": "60" };
  throw new Problem("not_configured", { detail: describeIssues(result.error), headers });
}

/** Validates the account and the task of a path, before any object is called. */
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
 * @throws Problem `not_found` when the caller is another account; `invalid_request` when the text is no
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
 * @throws Problem `unknown_task` when the text is no task id, the same as for an unknown id.
 */
function requireTaskId(param: string): string {
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}
