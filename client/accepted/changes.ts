/**
 * Compares the types of the present API with the accepted ones (schema.d.ts in this folder). A change that
 * breaks clients is an error of the type checker, which names the operation and what has changed. Additions
 * are none. `npm run api:accept` accepts the present types.
 */
import type { paths as Paths, webhooks as Webhooks } from "../src/schema.d.ts";
import type { paths as AcceptedPaths, webhooks as AcceptedWebhooks } from "./schema.d.ts";

type Method = "get" | "post" | "delete";

/** A part of an operation; also undefined where the part is optional. */
type Part<Operation, Name extends string> =
  Operation extends Record<Name, infer P>
    ? P
    : Operation extends Partial<Record<Name, infer P>>
      ? P | undefined
      : undefined;
type Body<Operation> =
  NonNullable<Part<Operation, "requestBody">> extends { content: { "application/json": infer B } }
    ? B
    : never;
type Query<Operation> = NonNullable<Part<Part<Operation, "parameters">, "query">>;
/** Names of the members that some variant of a type has. */
type Names<T> = T extends unknown ? keyof T : never;
/** Names of parameters and fields that requests may have. */
type Inputs<Operation> = Names<Query<Operation>> | Names<Body<Operation>>;
type Request<Operation> = [Part<Operation, "parameters">, Part<Operation, "requestBody">];
type Answers<Operation> = Part<Operation, "responses">;

/** Changes between two operations that break clients of the old one; never when there is none. */
type Break<Old, New> = Old extends object
  ? New extends object
    ?
        | (Request<Old> extends Request<New> ? never : "a request is no longer accepted")
        | (Inputs<Old> extends Inputs<New> ? never : "a parameter or field is gone")
        | (Answers<New> extends Answers<Old> ? never : "an answer is not as before")
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
