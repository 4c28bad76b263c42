/**
 * Compares the types of the present API with the accepted ones (schema.d.ts in this folder). A change that
 * breaks clients is an error of the type checker, which names the operation and what has changed. Additions
 * are none. `npm run api:accept` accepts the present types.
 */
import type { paths as Paths, webhooks as Webhooks } from "../src/schema.d.ts";
import type { paths as AcceptedPaths, webhooks as AcceptedWebhooks } from "./schema.d.ts";

type Method = "get" | "post" | "delete";

interface Operation {
  readonly parameters: { readonly query?: unknown };
  readonly requestBody?: unknown;
  readonly responses: unknown;
}

type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
/** Names of the members that some variant of a type has. */
type Names<T> = T extends unknown ? keyof T : never;

type Request<O extends Operation> = [O["parameters"], O["requestBody"]];
/** Names of parameters and fields that requests may have. */
type Inputs<O> = Names<Query<O>> | Names<Body<O>>;

/** What has changed between two operations so that clients of the old one break; never when nothing has. */
type Break<Old, New> = Old extends Operation
  ? New extends Operation
    ?
        | (Request<Old> extends Request<New> ? never : "a request is no longer accepted")
        | (Inputs<Old> extends Inputs<New> ? never : "a parameter or field is gone")
        | (New["responses"] extends Old["responses"] ? never : "an answer is not as before")
    : "is gone"
  : never;

/** Operations with a change that breaks clients, as text. */
type BrokenOperations = {
  [Path in keyof AcceptedPaths]: {
    [M in Method]: `${M} ${Path}: ${Break<
      AcceptedPaths[Path][M],
      Path extends keyof Paths ? Paths[Path][M] : undefined
    >}`;
  }[Method];
}[keyof AcceptedPaths];

/** Webhooks whose receivers could get what they do not expect, as text. */
type BrokenWebhooks = {
  [Name in keyof AcceptedWebhooks]: Name extends keyof Webhooks
    ? Body<Webhooks[Name]["post"]> extends Body<AcceptedWebhooks[Name]["post"]>
      ? never
      : `${Name}: its body is not as before`
    : `${Name}: is gone`;
}[keyof AcceptedWebhooks];

/** A list of changes; without any it has only `none`. */
type List<Change extends string> = Readonly<Record<"none" | Change, true>>;

/** The changes that break clients, which must be none; the type checker names those that the lists lack. */
export const brokenOperations: List<BrokenOperations> = { none: true };
export const brokenWebhooks: List<BrokenWebhooks> = { none: true };
