/** Names of the `{…}` parameters in a path: `"id"` for `/v1/tasks/{id}`. */
type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamName<Rest>
  : never;

/** Parameters of a path by name: `{ id: string }` for `/v1/tasks/{id}`. */
export type PathParams<Path extends string> = Readonly<Record<ParamName<Path>, string>>;

const PARAM = /\{(\w+)\}/g;

/** Converts a path of the route table to Hono's notation: `{id}` becomes `:id`. */
export function honoPath(path: string): string {
  return path.replaceAll(PARAM, ":$1");
}

/**
 * Returns the values of the parameters that occur in `path`, with a type that lists them.
 * @throws Error when one is missing, which is a bug in the routing.
 */
export function paramsOf<Path extends string>(
  path: Path,
  params: Readonly<Record<string, string>>,
): PathParams<Path> {
  if (hasParams(path, params)) return params;
  throw new Error(`the path ${path} was matched without its parameters`);
}

function hasParams<Path extends string>(
  path: Path,
  params: Readonly<Record<string, string>>,
): params is Readonly<Record<string, string>> & PathParams<Path> {
  return Array.from(path.matchAll(PARAM)).every(([, name = ""]) => Object.hasOwn(params, name));
}
