import type * as z from "zod";
import type { Env } from "../../env.ts";
import { accountOf, type Caller } from "../../task/caller.ts";
import { describeIssues } from "../../config/issue.ts";
import { type Runtime, runtimeOf } from "../../config/runtime.ts";
import { authenticate, type Access } from "./auth.ts";
import { parseJson, readBody, validate } from "./body.ts";
import {
  invalidRequest,
  Problem,
  type ProblemCode,
  unknownAccount,
  unknownTask,
} from "./problem.ts";
import { AccountId, TaskId } from "../schemas.ts";

/** One row of the route table: all that is known about a path and method, and its handler. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** With `{id}` for a task and `{account}` for an account. */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly body: z.ZodType | null;
  /** Status codes of success, with their meaning. */
  readonly answers: Readonly<Record<number, string>>;
  /** Refusals of this route itself; those of authentication, body and platform are common to all. */
  readonly errors: readonly ProblemCode[];
  readonly handle: (call: RouteRequest) => Promise<Response>;
}

/** A request as it came in. */
export interface RouteRequest {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  /** What stands for `{…}` in the path, as received. */
  readonly params: Readonly<Record<string, string>>;
}

/** A request whose sender is known, on a relay that is configured. */
export interface AuthenticatedRequest<Body> extends RouteRequest {
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** The task of the path; empty where the path names none. */
  readonly id: string;
  /** The account of the path; empty where the path names none. */
  readonly accountId: string;
  readonly body: Body;
  /** Origin of the relay as its caller addressed it. */
  readonly origin: string;
}

type RouteInfo = Omit<Route, "access" | "body" | "handle">;
type ProtectedRouteInfo = RouteInfo & { readonly access: Exclude<Access, "anyone"> };
type Handler<Body> = (call: AuthenticatedRequest<Body>) => Promise<Response>;

/** Anyone may ask; the handler sees to the configuration itself. */
export function publicRoute(described: RouteInfo, handle: Route["handle"]): Route {
  return { ...described, access: "anyone", body: null, handle };
}

/** A known sender asks, without a body. */
export function route(described: ProtectedRouteInfo, handle: Handler<null>): Route {
  return { ...described, body: null, handle: guarded(described, async () => null, handle) };
}

/** A known sender posts JSON. An empty body reads as `{}`. */
export function bodyRoute<S extends z.ZodType>(
  described: ProtectedRouteInfo,
  schema: S,
  handle: Handler<z.output<S>>,
): Route {
  const read = async (rawBody: RawBody) => {
    const bytes = await rawBody();
    return validate(schema, bytes.length === 0 ? {} : parseJson(bytes));
  };
  return { ...described, body: schema, handle: guarded(described, read, handle) };
}

type RawBody = () => Promise<Uint8Array<ArrayBuffer>>;

function guarded<Body>(
  { access }: ProtectedRouteInfo,
  readBodyFrom: (rawBody: RawBody) => Promise<Body>,
  handle: Handler<Body>,
): Route["handle"] {
  return async (call) => {
    const { request, env, params } = call;
    const runtime = await requireRuntime(env);
    let read: ReturnType<RawBody> | null = null;
    const rawBody = () => (read ??= readBody(request, runtime.config.maxBodyBytes));
    const caller = await authenticate(access, request.headers, rawBody, runtime, env);
    const accountId = accountIdOf(params, caller);
    const id = taskIdOf(params);
    const body = await readBodyFrom(rawBody);
    const { origin } = call.url;
    return handle({ ...call, runtime, caller, id, accountId, body, origin });
  };
}

/** @throws Problem `not_configured`, naming the variables at fault and never their values. */
export async function requireRuntime(env: Env): Promise<Runtime> {
  const result = await runtimeOf(env);
  if (result.ok) return result.value;
  const headers = { "Retry-After": "60" };
  throw new Problem("not_configured", { detail: describeIssues(result.error), headers });
}

/** @throws Problem `not_found` for any but the caller's own; `invalid_request` for what cannot be an account. */
function accountIdOf(params: RouteRequest["params"], caller: Caller): string {
  const param = params["account"];
  if (param === undefined) return "";
  const own = accountOf(caller);
  if (own !== null && own !== param) throw unknownAccount();
  const parsed = AccountId.safeParse(param);
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.map(({ message }) => ({ path: "/account", message })));
}

/** @throws Problem `unknown_task` for what cannot be an id, before any object is asked. */
function taskIdOf(params: RouteRequest["params"]): string {
  const param = params["id"];
  if (param === undefined) return "";
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}
