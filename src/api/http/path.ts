/** Names of the `{…}` parameters in a path: `"id"` for `/v1/tasks/{id}`. */
export type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamName<Rest>
  : never;

/** Parameters of a path by name: `{ id: string }` for `/v1/tasks/{id}`. */
export type PathParams<Path extends string> = Readonly<Record<ParamName<Path>, string>>;

const PARAM = /\{(\w+)\}/g;

/** Returns a path of the route table in the notation of Hono: `{id}` becomes `:id`. */
export function honoPath(path: string): string {
  return path.replaceAll(PARAM, ":$1");
}

/**
 * Returns a function that checks that all parameters of a path are present, and returns them with a type that has
 * each name. The function throws when a parameter is missing, which is a bug in the routing.
 */
export function paramsReader<Path extends string>(
  path: Path,
): (params: Readonly<Record<string, string>>) => PathParams<Path> {
  const names = Array.from(path.matchAll(PARAM), ([, name = ""]) => name);
  const isComplete = (
    params: Readonly<Record<string, string>>,
  ): params is Readonly<Record<string, string>> & PathParams<Path> =>
    names.every((name) => Object.hasOwn(params, name));
  return (params) => {
    if (isComplete(params)) return params;
    throw new Error(`the path ${path} was matched without its parameters`);
  };
}
