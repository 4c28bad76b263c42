import type * as z from "zod";
import type { Role } from "../core/view.ts";
import type { Env } from "../env.ts";
import { faultsOf, type Relay, relayOf } from "../relay.ts";
import { requireOperator, requireSender } from "./auth.ts";
import { parseJson, readBody, validate } from "./body.ts";
import { Problem, type ProblemCode, unknownTask } from "./problem.ts";
import { TaskId } from "./schemas.ts";

/** One row of the route table: all that is known about a path and method, and its handler. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** With `{id}` for the task. */
  readonly path: string;
  readonly who: "operator" | "upstream" | "anyone";
  readonly summary: string;
  readonly body: z.ZodType | null;
  /** Status codes of success, with their meaning. */
  readonly answers: Readonly<Record<number, string>>;
  /** Refusals of this route itself; those of authentication, body and platform are common to all. */
  readonly errors: readonly ProblemCode[];
  readonly handle: (call: Call) => Promise<Response>;
}

/** A request as it came in. */
export interface Call {
  readonly request: Request;
  readonly env: Env;
  readonly url: URL;
  /** What stands for `{…}` in the path, as received. */
  readonly params: Readonly<Record<string, string>>;
}

/** A request whose sender is known, on a relay that is configured. */
export interface KnownCall<Body> extends Call {
  readonly relay: Relay;
  readonly role: Role;
  /** The task of the path; empty where the path names none. */
  readonly id: string;
  readonly body: Body;
  /** Origin of the relay as its caller addressed it. */
  readonly origin: string;
}

type Described = Omit<Route, "who" | "body" | "handle">;
type Handler<Body> = (call: KnownCall<Body>) => Promise<Response>;

/** Anyone may ask; the handler sees to the configuration itself. */
export function openRoute(described: Described, handle: Route["handle"]): Route {
  return { ...described, who: "anyone", body: null, handle };
}

/** The operator asks, without a body. */
export function operatorRoute(described: Described, handle: Handler<null>): Route {
  const guarded = async (call: Call) => {
    const relay = await requireRelay(call.env);
    const role = await requireOperator(call.request.headers, relay);
    return handle(known(call, relay, role, null));
  };
  return { ...described, who: "operator", body: null, handle: guarded };
}

/** The operator, or for `who: "upstream"` also a signed sender, posts JSON. An empty body reads as `{}`. */
export function bodyRoute<S extends z.ZodType>(
  described: Described & { readonly who: "operator" | "upstream" },
  schema: S,
  handle: Handler<z.output<S>>,
): Route {
  const guarded = async (call: Call) => {
    const relay = await requireRelay(call.env);
    const { headers } = call.request;
    let read: Promise<Uint8Array<ArrayBuffer>> | null = null;
    const rawBody = () => (read ??= readBody(call.request, relay.config.maxBodyBytes));
    const role =
      described.who === "upstream"
        ? await requireSender(headers, rawBody, relay)
        : await requireOperator(headers, relay);
    const bytes = await rawBody();
    const body = validate(schema, bytes.length === 0 ? {} : parseJson(bytes));
    return handle(known(call, relay, role, body));
  };
  return { ...described, body: schema, handle: guarded };
}

/** @throws Problem `not_configured`, naming the variables at fault and never their values. */
export async function requireRelay(env: Env): Promise<Relay> {
  const result = await relayOf(env);
  if (result.ok) return result.relay;
  const headers = { "Retry-After": "60" };
  throw new Problem("not_configured", { detail: faultsOf(result.issues), headers });
}

function known<Body>(call: Call, relay: Relay, role: Role, body: Body): KnownCall<Body> {
  return { ...call, relay, role, id: taskIdOf(call.params), body, origin: call.url.origin };
}

/** @throws Problem `unknown_task` for what cannot be an id, before any object is asked. */
function taskIdOf(params: Call["params"]): string {
  const param = params["id"];
  if (param === undefined) return "";
  const id = TaskId.safeParse(param);
  if (!id.success) throw unknownTask();
  return id.data;
}
