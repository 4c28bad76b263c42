/**
 * Compares the present API with that of the kept release (`test/kept-release/openapi.json`), as types. A change that
 * breaks clients is an error of the type checker, which says what it is and where. Additions are none.
 */
import type { components, paths as Paths, webhooks as Webhooks } from "../src/schema.d.ts";
import type {
  components as KeptComponents,
  paths as KeptPaths,
  webhooks as KeptWebhooks,
} from "./kept-schema.d.ts";

type Method = "get" | "post" | "delete";

/** A part of an operation; also undefined where the part is optional. */
type Part<Operation, Name extends string> =
  Operation extends Record<Name, infer P>
    ? P
    : Operation extends Partial<Record<Name, infer P>>
      ? P | undefined
      : undefined;
type Json<Content> = Content extends { content: { "application/json": infer B } } ? B : never;
type Body<Operation> = Json<NonNullable<Part<Operation, "requestBody">>>;
type Query<Operation> = NonNullable<Part<Part<Operation, "parameters">, "query">>;
/** Names of the members that some variant of a type has. */
type Names<T> = T extends unknown ? keyof T : never;
/** Names of parameters and fields that requests may have. */
type Inputs<Operation> = Names<Query<Operation>> | Names<Body<Operation>>;
type Request<Operation> = [Part<Operation, "parameters">, Part<Operation, "requestBody">];
type Answers<Operation> = Part<Operation, "responses">;

/** Names of the members of `Wanted` for which those of `Given` cannot stand. */
type Unfit<Given, Wanted> = {
  [Name in keyof Wanted]-?: Name extends keyof Given
    ? Pick<Given, Name> extends Pick<Wanted, Name>
      ? never
      : Name
    : object extends Pick<Wanted, Name>
      ? never
      : Name;
}[keyof Wanted];

/** A text for each of these names; the text alone where there is none. */
type Each<Text extends string, Name> = [Name] extends [never] ? Text : `${Text}: ${Name & string}`;

/** Changes of the requests that break clients of the old operation, as text; never when there is none. */
type BrokenRequest<Old, New> =
  | (Inputs<Old> extends Inputs<New>
      ? never
      : Each<"a parameter or field is gone", Exclude<Inputs<Old>, Inputs<New>>>)
  | (Request<Old> extends Request<New>
      ? never
      : Each<
          "a request is no longer accepted",
          Unfit<Query<Old>, Query<New>> | Unfit<Body<Old>, Body<New>>
        >);

/** An answer without the task that its problems may have, which is compared once for all answers. */
type WithoutTask<Answer> = Answer extends {
  content: infer Content extends { "application/problem+json": object };
}
  ? Omit<Answer, "content"> & {
      content: Omit<Content, "application/problem+json"> & {
        "application/problem+json": Omit<Content["application/problem+json"], "task">;
      };
    }
  : Answer;

type BrokenAnswers<Old, New> = {
  [Status in keyof Old & (string | number)]: Status extends keyof New
    ? WithoutTask<New[Status]> extends WithoutTask<Old[Status]>
      ? never
      : Each<`the answer ${Status} is not as before`, Unfit<Json<New[Status]>, Json<Old[Status]>>>
    : `the answer ${Status} is gone`;
}[keyof Old & (string | number)];

/** Changes between two operations that break clients of the old one, as text; never when there is none. */
type BrokenOperation<Old, New> = Old extends object
  ? New extends object
    ? BrokenRequest<Old, New> | BrokenAnswers<Answers<Old>, Answers<New>>
    : "is gone"
  : never;

type BrokenOperations = {
  [Path in keyof KeptPaths]: {
    [M in Method]: `${M} ${Path}: ${BrokenOperation<
      KeptPaths[Path][M],
      Path extends keyof Paths ? Paths[Path][M] : undefined
    >}`;
  }[Method];
}[keyof KeptPaths];

/** Changes of webhooks that let receivers get what they do not expect, as text. */
type BrokenWebhooks = {
  [Name in keyof KeptWebhooks]: Name extends keyof Webhooks
    ? Body<Webhooks[Name]["post"]> extends Body<KeptWebhooks[Name]["post"]>
      ? never
      : Each<
          `${Name}: its body is not as before`,
          Unfit<Body<Webhooks[Name]["post"]>, Body<KeptWebhooks[Name]["post"]>>
        >
    : `${Name}: is gone`;
}[keyof KeptWebhooks];

type Problem = components["schemas"]["Problem"];
type KeptProblem = KeptComponents["schemas"]["Problem"];
type BrokenProblem = Problem extends KeptProblem
  ? never
  : Each<"problems are not as before", Unfit<Problem, KeptProblem>>;

/** A list of changes; without any it has only `none`. */
type List<Change extends string> = Readonly<Record<"none" | Change, true>>;

/** The changes that break clients, which must be none; the type checker names those that the lists lack. */
export const brokenOperations: List<BrokenOperations> = { none: true };
export const brokenProblem: List<BrokenProblem> = { none: true };
export const brokenWebhooks: List<BrokenWebhooks> = { none: true };
