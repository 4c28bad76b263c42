import type * as z from "zod/mini";
import type { Env } from "../../env.ts";
import type { Caller, KeyHolder } from "../../objects/task/caller.ts";
import { errorFields, log } from "../../lib/log.ts";
import { placedRuntimeOf } from "../../objects/placed-runtime.ts";
import { describeIssues } from "../../config/issue.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Permission } from "../../security/roles.ts";
import {
  type Call,
  type Given,
  named,
  NoBody,
  NoQuery,
  type Operation,
  operation,
  Unread,
} from "../operation.ts";
import { authenticate, type Access, requireValidKey } from "./auth.ts";
import { type BodyReader, bodyReader, readJson } from "./body.ts";
import { unavailable, UnknownObjectError, UNREACHABLE } from "./object-call.ts";
import { calledOrigin } from "./link-origin.ts";
import { traceOf } from "./trace-headers.ts";
import { type ParamName, type PathParams, paramsReader } from "./path.ts";
import type { AccountLimit } from "./rate-limit.ts";
import { Problem } from "./problem.ts";
import { textsIn } from "./query.ts";

/**
 * A route of the HTTP API: a method, a path, requirements on its requests, and their handler. The file with the same
 * name and the ending `.openapi.ts` describes it for readers. Hono only finds the route; its own types for handlers are
 * not used, because paths and bodies would have to be declared again in them.
 */
export interface Route<Id extends string = string> {
  /** Name of the operation, under which API descriptions and generated clients know the route. */
  readonly id: Id;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path of the route, with parameters in braces, e.g. `{id}` for a task and `{account}` for an account. */
  readonly path: string;
  readonly access: Access;
  /** Rate limit that counts the requests of accounts to this route. Absent when the requests are not counted. */
  readonly rateLimit?: AccountLimit;
  /**
   * True for a route that accepts a status token (the token in the status link of a task) instead of a key. Absent for
   * any other route.
   */
  readonly takesStatusToken?: true;
  /**
   * Headers that requests of other sites' pages may have (CORS), separated by commas. Absent for a route that such
   * pages may not call.
   */
  readonly crossOriginHeaders?: string;
  /** Schema of the query. Null for a public route that ignores its query. */
  readonly query: z.ZodMiniObject | null;
  readonly body: z.ZodMiniType | null;
  readonly handle: (call: RouteRequest<Params>) => Promise<Response>;
}

/** A route that only a caller with a permission may use. */
export interface ProtectedRoute<Id extends string = string> extends Route<Id> {
  readonly access: Permission;
}

/** Parameters of a path, as the texts that were received, not yet checked. */
type Params = Readonly<Record<string, string>>;

/** A request with the parameters of its path, not yet authenticated. */
export interface RouteRequest<P> {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  readonly params: P;
  /** Caller to assume for a request without a credential. Null when such a request is to be refused. */
  readonly callerWithoutKey: KeyHolder | null;
  /**
   * Reads the body of a request that the relay makes itself when the isolate starts (src/rehearsal.ts). Absent for the
   * request of a client: its body is awaited with a timer, which the platform does not permit at module scope.
   */
  readonly readBody?: BodyReader;
}

/** An HTTP request whose operation has been performed, with the configuration and the identified caller. */
interface PerformedRequest<P = unknown> extends RouteRequest<P> {
  readonly runtime: Runtime;
  readonly caller: Caller;
}

/** The method and path by which requests call an operation. */
interface Wire<Path extends string> extends Pick<Route, "method"> {
  readonly path: Path;
}

/** The method and path of a route that belongs to no operation, with the name of the route. */
interface NamedWire<Id extends string, Path extends string> extends Wire<Path> {
  readonly id: Id;
}

/** Describes how a request gives the parameters of an operation. */
interface Parameters {
  /** Schema of the parameters in the URL. */
  readonly schema: z.ZodMiniObject;
  /** Returns the parameters of the operation. @throws Problem when the URL is not valid. */
  readonly read: (url: URL, headers: Headers) => object;
}

/**
 * Declares a route that anyone may call without a key. Its handler is called even while the configuration is not
 * valid.
 */
export function publicRoute<Id extends string, Path extends string>(
  wire: NamedWire<Id, Path>,
  handle: (call: RouteRequest<PathParams<Path>>) => Promise<Response>,
): Route<Id> {
  const readParams = paramsReader(wire.path);
  const answer = named(wire.id, handle);
  return {
    ...wire,
    access: "anyone",
    query: null,
    body: null,
    handle: async (call) => await answer({ ...call, params: readParams(call.params) }),
  };
}

/**
 * Declares the route of an operation, for callers with a key or a signature. An empty body is read as `{}`.
 * @param answer makes the HTTP response from the result of the operation.
 * @param parameters reads the parameters of a request. By default they are taken from the query, under the names that
 * the operation uses.
 */
export function routeOf<
  Id extends string,
  const Path extends string,
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
  Result,
>(
  wire: Wire<Path>,
  operated: Operation<Id, ParamName<Path>, Query, Body, Result>,
  answer: (
    result: Result,
    call: PerformedRequest<PathParams<Path>>,
  ) => Response | Promise<Response>,
  parameters: Parameters = inQuery(operated.query),
): ProtectedRoute<Id> {
  const { name: id, access, rateLimit, body, perform } = operated;
  const readParams = paramsReader(wire.path);
  const handle = async (call: RouteRequest<Params>) => {
    const { request, env, url, params, callerWithoutKey } = call;
    const { headers } = request;
    const runtime = requireRuntime(env);
    const rawBody = call.readBody ?? bodyReader(request, runtime.config.maxBodyBytes);
    const credentials = { headers, body: rawBody, callerWithoutKey };
    const caller = await authenticate(access, credentials, runtime, env);
    const inPath = readParams(params);
    const given: Given<ParamName<Path>, Query, Body> = {
      params: inPath,
      query: new Unread(() => parameters.read(url, headers)),
      ...(hasBody(body) && { body: new Unread(async () => jsonIn(await rawBody())) }),
      idempotencyKey: headers.get("Idempotency-Key"),
    };
    const requireCurrent = () => requireValidKey(caller, headers, env);
    const trace = traceOf(headers);
    const context = { env, runtime, ...calledOrigin(request, url), requireCurrent, trace };
    const result = await perform(given, caller, context);
    return await answer(result, { ...call, params: inPath, runtime, caller });
  };
  return {
    id,
    ...wire,
    access,
    ...(rateLimit !== undefined && { rateLimit }),
    query: parameters.schema,
    body: hasBody(body) ? body : null,
    handle,
  };
}

/** Returns the schema and the reader for parameters that have the same names in the query as in the operation. */
function inQuery(schema: z.ZodMiniObject): Parameters {
  return { schema, read: (url) => textsIn(schema, url) };
}

function hasBody(schema: z.ZodMiniType): boolean {
  return schema !== NoBody;
}

/** Returns the JSON value of a body; `{}` for an empty body. */
function jsonIn(bytes: Uint8Array): unknown {
  return bytes.length === 0 ? {} : readJson(bytes);
}

/** A call that has passed all checks, with its HTTP request, for a route whose handler makes the response itself. */
export interface CheckedRequest<Param extends string, Query>
  extends Call<Param, Query, null>, Pick<PerformedRequest, "request" | "url"> {}

interface ProtectedWire<Id extends string, Path extends string> extends NamedWire<Id, Path> {
  readonly access: Permission;
  readonly rateLimit?: AccountLimit;
}
type Handler<Path extends string, Query> = (
  call: CheckedRequest<ParamName<Path>, Query>,
) => Promise<Response>;

/** Declares a route without query parameters whose handler makes the HTTP response itself, e.g. as a stream. */
export function route<Id extends string, const Path extends string>(
  wire: ProtectedWire<Id, Path>,
  handle: Handler<Path, object>,
): ProtectedRoute<Id> {
  return queryRoute(wire, NoQuery, handle);
}

/** Declares a route with query parameters whose handler makes the HTTP response itself, e.g. as a stream. */
export function queryRoute<
  Id extends string,
  const Path extends string,
  Query extends z.ZodMiniObject,
>(
  { id, access, rateLimit, ...wire }: ProtectedWire<Id, Path>,
  query: Query,
  handle: Handler<Path, z.output<Query>>,
): ProtectedRoute<Id> {
  type Checked = Call<ParamName<Path>, z.output<Query>, null>;
  const limit = rateLimit === undefined ? {} : { rateLimit };
  const checked = operation<Id, Query, typeof NoBody, Checked, ParamName<Path>>(
    id,
    { access, ...limit, query, body: NoBody },
    async (call) => call,
  );
  const answer = named(id, handle);
  return routeOf(
    wire,
    checked,
    async (call, { request, url }) => await answer({ ...call, request, url }),
  );
}

/**
 * Returns the configuration and keys of the relay.
 * @throws Problem `not_configured`, which names the faulty variables, when the configuration is not valid.
 */
export function requireRuntime(env: Env): Runtime {
  const result = placedRuntimeOf(env);
  if (result.ok) return result.value;
  const headers = { "Retry-After": "60" };
  throw new Problem("not_configured", { detail: describeIssues(result.error), headers });
}

/**
 * Returns a copy of a route that answers 503 (`unavailable`) instead of 500 when a Durable Object throws an unknown
 * error. Upstreams repeat a request after a 503, but some do not after a 500.
 */
export function repeatable<R extends Route>(declared: R): R {
  const handle: Route["handle"] = async (call) => {
    try {
      return await declared.handle(call);
    } catch (error) {
      if (!(error instanceof UnknownObjectError)) throw error;
      log({ event: "request.failed", ...errorFields(error) }, "error");
      throw unavailable(UNREACHABLE, "unknown");
    }
  };
  return { ...declared, handle };
}
