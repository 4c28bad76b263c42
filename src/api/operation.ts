import * as z from "zod/mini";
import type { Runtime } from "../config/runtime.ts";
import type { Env } from "../env.ts";
import { describeHolders, type Permission } from "../security/roles.ts";
import { accountOf, type Caller, may } from "../objects/task/caller.ts";
import { validate } from "./http/body.ts";
import { AccountId, TaskId } from "./http/fields.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "./http/problem.ts";
import { type AccountLimit, countRequest } from "./http/rate-limit.ts";

/** Schema of the query of an operation without parameters. */
export const NoQuery = z.strictObject({});

/** Schema of the body of an operation without one. */
export const NoBody = z.pipe(
  z.unknown(),
  z.transform(() => null),
);

/** Requirements of an operation (permission, rate limit), and the schemas of its input. */
interface Declaration<Param, Query, Body> {
  /** Permission that the caller must have. */
  readonly access: Permission;
  /** Rate limit that counts the calls of accounts; absent where none does. */
  readonly rateLimit?: AccountLimit;
  /**
   * Names of the texts that say what the operation acts on: `id` is a task, `account` an account. Absent for none.
   */
  readonly params?: readonly Param[];
  /** Schema of the parameters, which are texts. */
  readonly query: Query;
  readonly body: Body;
  /**
   * States that a repeated call with the same `Idempotency-Key` changes nothing; absent for an operation that
   * ignores the key.
   */
  readonly takesIdempotencyKey?: true;
}

/**
 * Something that the relay does for a caller. Routes, the console and the binding only read its input and write
 * its result. The function that does it is known to `perform` alone, so that nobody gets past the checks.
 */
export interface Operation<
  Param extends string,
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
  Result,
> extends Declaration<Param, Query, Body> {
  /**
   * Performs the operation if the caller has the permission, the rate limit permits the call, and the input is
   * valid; the checks are made in this order.
   * @throws Problem when a check fails, or the operation itself refuses the call.
   */
  readonly perform: (
    given: Given<Param, Query, Body>,
    caller: Caller,
    context: Context,
  ) => Promise<Result>;
}

/** The relay that performs an operation, and how the call came. */
export interface Context {
  readonly env: Env;
  readonly runtime: Runtime;
  /** Origin (scheme and host) to which the caller sent the call. */
  readonly origin: string;
  /** Rate limit that does not count this call, because its sender has been counted before; absent for none. */
  readonly counted?: AccountLimit | undefined;
  /**
   * Checks again that the credential of the caller is valid, for an operation that waits, during which it may be
   * revoked; absent where nobody can revoke it.
   * @throws Problem `unauthenticated` when it was revoked.
   */
  readonly requireCurrent?: (() => Promise<void>) | undefined;
}

/** Input of an operation as a route, the console or the binding has found it, not yet checked. */
export interface Given<Param extends string, Query, Body> {
  readonly params: Readonly<Record<Param, string>>;
  /** Absent for no parameters. */
  readonly query?: Fields<Query> | Unread;
  /** Absent for a body without fields. */
  readonly body?: Fields<Body> | Unread;
  readonly idempotencyKey?: string | null;
}

/** The fields of a schema, with values that are not checked yet. */
type Fields<Schema> = Schema extends z.ZodMiniType
  ? { readonly [Name in keyof z.input<Schema>]?: unknown }
  : never;

/**
 * Input that is read after all checks that do not need it, so that a call that they refuse is answered with their
 * problem, whatever its input is.
 */
export class Unread {
  readonly read: () => unknown;

  /** @param read returns the input, or a promise of it. It throws a `Problem` when the input cannot be read. */
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
  /** `Idempotency-Key` of the call; null when the caller gave none, and for an operation that ignores it. */
  readonly idempotencyKey: string | null;
}

/**
 * Declares an operation.
 * @param run does what the operation is for. It gets only calls that have passed all checks.
 */
export function operation<
  Query extends z.ZodMiniObject,
  Body extends z.ZodMiniType,
  Result,
  const Param extends string = never,
>(
  declaration: Declaration<Param, Query, Body>,
  run: (call: Call<Param, z.output<Query>, z.output<Body>>) => Promise<Result>,
): Operation<Param, Query, Body, Result> {
  const { access, rateLimit, takesIdempotencyKey } = declaration;
  return {
    ...declaration,
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
      const { env, runtime, origin, requireCurrent } = context;
      return run({
        env,
        runtime,
        origin,
        requireCurrent,
        caller,
        params,
        query,
        body,
        idempotencyKey,
      });
    },
  };
}

async function inputOf(given: object | undefined): Promise<unknown> {
  return given instanceof Unread ? given.read() : (given ?? {});
}

/**
 * Returns an `Idempotency-Key`.
 * @throws Problem `invalid_request` when it is not 1 to 255 printable ASCII characters.
 */
function requireIdempotencyKey(key: string): string {
  if (/^[\x20-\x7E]{1,255}$/.test(key)) return key;
  const message = "must be 1 to 255 printable ASCII characters";
  throw invalidRequest([{ path: "/Idempotency-Key", message }]);
}

/** Checks that a caller has a permission. @throws Problem `forbidden` when its role does not have it. */
function requirePermission(caller: Caller, permission: Permission): void {
  if (may(caller, permission)) return;
  throw new Problem("forbidden", {
    detail: `This request needs ${describeHolders(permission)}.`,
  });
}

/** Checks the ids of the account and the task, before any Durable Object is called. */
function checkedParams<Param extends string>(
  params: Readonly<Record<Param, string>>,
  caller: Caller,
): Readonly<Record<Param, string>> {
  const { account, id }: { readonly account?: string; readonly id?: string } = params;
  return {
    ...params,
    ...(account !== undefined && { account: requireAccountId(account, caller) }),
    ...(id !== undefined && { id: requireTaskId(id) }),
  };
}

/**
 * Checks the id of an account, and returns it.
 * @throws Problem `not_found` when an account asks for another account; `invalid_request` when the text is no
 * account id.
 */
function requireAccountId(text: string, caller: Caller): string {
  const own = accountOf(caller);
  if (own !== null && own !== text) throw unknownAccount();
  const parsed = AccountId.safeParse(text);
  if (parsed.success) return parsed.data;
  throw invalidRequest(parsed.error.issues.map(({ message }) => ({ path: "/account", message })));
}

/**
 * Checks the id of a task, and returns it in lower case.
 * @throws Problem `unknown_task` when the text is no task id; the answer is the same as for a task that does
 * not exist.
 */
function requireTaskId(text: string): string {
  const id = TaskId.safeParse(text);
  if (!id.success) throw unknownTask();
  return id.data;
}
