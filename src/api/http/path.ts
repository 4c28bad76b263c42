/**
 * Names of the `{…}` parameters in a path: `"id"` for `/v1/tasks/{id}`. A parameter with a plus sign, e.g. `{+path}`,
 * stands for one or more segments (RFC 6570 §3.2.3).
 */
export type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? PlainName<Name> | ParamName<Rest>
  : never;
type PlainName<Name extends string> = Name extends `+${infer Plain}` ? Plain : Name;

/** Parameters of a path by name: `{ id: string }` for `/v1/tasks/{id}`. */
export type PathParams<Path extends string> = Readonly<Record<ParamName<Path>, string>>;

const PARAM = /\{(\+?)(\w+)\}/g;

/** Returns a path of the route table in the notation of Hono: `{id}` becomes `:id`, `{+path}` becomes `:path{.+}`. */
export function honoPath(path: string): string {
  return path.replaceAll(PARAM, (_, plus: string, name: string) =>
    plus === "" ? `:${name}` : `:${name}{.+}`,
  );
}

/**
 * Returns a function that takes the parameters of a request's path, checks that none is missing, and returns them with
 * a type that has their names. It throws an error when a parameter is missing, which is a bug in the routing.
 */
export function paramsReader<Path extends string>(
  path: Path,
): (params: Readonly<Record<string, string>>) => PathParams<Path> {
  const names = Array.from(path.matchAll(PARAM), ([, , name = ""]) => name);
  const isComplete = (
    params: Readonly<Record<string, string>>,
  ): params is Readonly<Record<string, string>> & PathParams<Path> =>
    names.every((name) => Object.hasOwn(params, name));
  return (params) => {
    if (isComplete(params)) return params;
    throw new Error(`the path ${path} was matched without its parameters`);
  };
}
