import * as z from "zod/mini";
import { compiled } from "../core/compiled.ts";
import type { Runtime } from "../config/runtime.ts";
import type { Trace } from "../core/record/trace.ts";
import type { Env } from "../env.ts";
import { describeHolders, type Permission } from "../security/roles.ts";
import { accountOf, type Caller, may } from "../objects/task/caller.ts";
import { validate } from "./http/body.ts";
import type { CalledOrigin } from "./http/link-origin.ts";
import { AccountId, EndpointName, TaskId } from "./http/fields.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "./http/problem.ts";
import { type AccountLimit, countRequest } from "./http/rate-limit.ts";

/** Schema of the query of an operation without parameters. It is compiled when the isolate starts. */
export const NoQuery = compiled(z.strictObject({}));

/** Schema of the body of an operation that takes no body: it accepts any value and gives null. */
export const NoBody = z.pipe(
  z.unknown(),
  z.transform(() => null),
);

/** Requirements of an operation (permission, rate limit), and the schemas of its input. */
interface Declaration<Param, Query, Body> {
  /** Permission that the caller must have. */
  readonly access: Permission;
  /** Rate limit that counts the calls of each account. Absent when the calls are not counted. */
  readonly rateLimit?: AccountLimit;
  /**
   * Names of the ids on which the operation acts, e.g. `id` for a task and `account` for an account. Absent when
   * there are none.
   */
  readonly params?: readonly Param[];
  /** Schema of the parameters. Each parameter is given as a text. */
  readonly query: Query;
  readonly body: Body;
  /**
   * True for an operation that does nothing more when a call is repeated with the same `Idempotency-Key`. Absent for an
   * operation that ignores this key.
   */
  readonly takesIdempotencyKey?: true;
}

/**
 * Something that the relay does for a caller, e.g. cancelling a task. Routes, the console and the MCP tools only read
 * its input and write its result. They reach the function that does the work only through `perform`, so that the checks
 * in `perform` cannot be skipped.
 */
export interface Operation<
  Name extends string,
  Param extends string,
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
  Result,
> extends Declaration<Param, Query, Body> {
  /** Name of the operation: the id of its route, and its name in stack traces and log lines. */
  readonly name: Name;
  /**
   * Performs the operation after three checks, in this order: the caller has the permission, the rate limit permits
   * the call, and the input is valid.
   * @throws Problem when a check fails, or when the operation itself refuses the call.
   */
  readonly perform: (
    given: Given<Param, Query, Body>,
    caller: Caller,
    context: Context,
  ) => Promise<Result>;
}

/**
 * Environment and configuration of the relay, and facts about how a call was made, which an operation gets besides its
 * input.
 */
export interface Context extends CalledOrigin {
  readonly env: Env;
  readonly runtime: Runtime;
  /**
   * Rate limit that must not count this call, because it has already counted the request that led to the call. Absent
   * when there is none.
   */
  readonly counted?: AccountLimit | undefined;
  /**
   * Checks again that the caller's credential is valid. An operation that waits calls it, because the credential may be
   * revoked during the wait. Absent for a credential that cannot be revoked.
   * @throws Problem `unauthenticated` when the credential was revoked.
   */
  readonly requireCurrent?: (() => Promise<void>) | undefined;
  /** Trace context of the call, which a task that it creates keeps. Absent or null when the call states none. */
  readonly trace?: Trace | null | undefined;
}

/** Input of an operation before it is checked, as it comes from a route, the console or an MCP tool. */
export interface Given<Param extends string, Query, Body> {
  readonly params: Readonly<Record<Param, string>>;
  /** Parameters of the call. Absent when there are none. */
  readonly query?: Fields<Query> | Unread;
  /** Fields of the call's body. Absent when there are none. */
  readonly body?: Fields<Body> | Unread;
  readonly idempotencyKey?: string | null;
}

/** The fields of a schema, with values that are not checked yet. */
type Fields<Schema> = Schema extends z.ZodMiniType
  ? { readonly [Name in keyof z.input<Schema>]?: unknown }
  : never;

/**
 * Input that is read only after the checks of the permission and the rate limit. A call that fails one of these checks
 * is refused for that reason, even when its input is invalid too.
 */
export class Unread {
  readonly read: () => unknown;

  /**
   * Creates an input that is read later.
   * @param read returns the input, or a promise of the input. It throws a `Problem` when the input cannot be read.
   */
  constructor(read: () => unknown) {
    this.read = read;
  }
}

/** A call that has passed all checks. */
export interface Call<Param extends string, Query, Body> extends Omit<Context, "counted"> {
  readonly caller: Caller;
  readonly params: Readonly<Record<Param, string>>;
  readonly query: Query;
  readonly body: Body;
  /** `Idempotency-Key` of the call. Null when the caller gave none, or when the operation ignores the key. */
  readonly idempotencyKey: string | null;
}

/**
 * Declares an operation.
 * @param name name of the constant to which the operation is assigned; `run` has this name in stack traces.
 * @param run does the work of the operation. It gets only calls that have passed all checks.
 */
export function operation<
  const Name extends string,
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
  Result,
  const Param extends string = never,
>(
  name: Name,
  declaration: Declaration<Param, Query, Body>,
  run: (call: Call<Param, z.output<Query>, z.output<Body>>) => Promise<Result>,
): Operation<Name, Param, Query, Body, Result> {
  const { access, rateLimit, takesIdempotencyKey } = declaration;
  const work = named(name, run);
  return {
    ...declaration,
    name,
    perform: async (given, caller, { counted, ...context }) => {
      requirePermission(caller, access);
      if (rateLimit !== undefined && rateLimit !== counted) {
        await countRequest(rateLimit, caller, context.env);
      }
      const params = checkedParams(given.params, caller);
      const query = validate(declaration.query, await inputOf(given.query), "parameter");
      const body = validate(declaration.body, await inputOf(given.body));
      const key = takesIdempotencyKey === true ? (given.idempotencyKey ?? null) : null;
      const idempotencyKey = key === null ? null : requireIdempotencyKey(key);
      const { env, runtime, origin, isOriginProven, requireCurrent, trace = null } = context;
      return await work({
        env,
        runtime,
        origin,
        isOriginProven,
        requireCurrent,
        trace,
        caller,
        params,
        query,
        body,
        idempotencyKey,
      });
    },
  };
}

/** Sets the name that a function has in stack traces, which minifying would remove, and returns the function. */
export function named<F extends (...args: never) => unknown>(name: string, run: F): F {
  return Object.defineProperty(run, "name", { value: name });
}

async function inputOf(given: object | undefined): Promise<unknown> {
  return given instanceof Unread ? given.read() : (given ?? {});
}

/**
 * Checks an `Idempotency-Key`, and returns it.
 * @throws Problem `invalid_request` unless it has 1 to 255 printable ASCII characters.
 */
function requireIdempotencyKey(key: string): string {
  if (/^[\x20-\x7E]{1,255}$/.test(key)) return key;
  const message = "must be 1 to 255 printable ASCII characters";
  throw invalidRequest([{ path: "/Idempotency-Key", message }]);
}

/** Checks that a caller has a permission. @throws Problem `forbidden` when the caller's role does not have it. */
function requirePermission(caller: Caller, permission: Permission): void {
  if (may(caller, permission)) return;
  throw new Problem("forbidden", {
    detail: `This request needs ${describeHolders(permission)}.`,
  });
}

/**
 * Checks the ids of the account, the task and the endpoint among the parameters, before any Durable Object is called.
 * Returns the parameters, with the id of the task in lower case.
 */
function checkedParams<Param extends string>(
  params: Readonly<Record<Param, string>>,
  caller: Caller,
): Readonly<Record<Param, string>> {
  const { account, id, endpoint }: Partial<Record<"account" | "id" | "endpoint", string>> = params;
  if (endpoint !== undefined) requireEndpointName(endpoint);
  return {
    ...params,
    ...(account !== undefined && { account: requireAccountId(account, caller) }),
    ...(id !== undefined && { id: requireTaskId(id) }),
  };
}

/**
 * Checks the id of an account, and returns it.
 * @throws Problem `not_found` when an account asks for another account; `invalid_request` when the text is not an
 * account id.
 */
function requireAccountId(text: string, caller: Caller): string {
  const own = accountOf(caller);
  if (own !== null && own !== text) throw unknownAccount();
  const parsed = AccountId.safeParse(text);
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.map(({ message }) => ({ path: "/account", message })));
}

/** Checks the name of an endpoint. @throws Problem `invalid_request` when it is not one. */
function requireEndpointName(text: string): void {
  const parsed = EndpointName.safeParse(text);
  if (parsed.success) return;
  throw invalidRequest(parsed.error.issues.map(({ message }) => ({ path: "/endpoint", message })));
}

/**
 * Checks the id of a task, and returns it in lower case.
 * @throws Problem `unknown_task`, as for a task that does not exist, when the text is not a task id.
 */
function requireTaskId(text: string): string {
  const id = TaskId.safeParse(text);
  if (!id.success) throw unknownTask();
  return id.data;
}
