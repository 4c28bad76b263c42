import type { Route } from "./route.ts";

/** A path that has routes. */
interface RoutedPath {
  /** Path as the table of routes has it, e.g. `/v1/tasks/{id}`. */
  readonly path: string;
  readonly byMethod: ReadonlyMap<string, Route>;
  /** Names of the parameters in the path, with the numbers of their segments. */
  readonly parameters: readonly { readonly name: string; readonly at: number }[];
}

/** The routes of a path, and the decoded values of its parameters. */
export interface PathMatch extends Pick<RoutedPath, "path" | "byMethod"> {
  readonly params: Readonly<Record<string, string>>;
}

/** Node of the tree of all paths, which tells what may follow a segment. */
interface PathNode {
  readonly literals: Map<string, PathNode>;
  /** Node behind a parameter; null where no path has one. */
  parameter: PathNode | null;
  /** Path that ends here; null for none. */
  end: RoutedPath | null;
}

const PARAMETER = /^\{(\w+)\}$/;
const RAW_PATH = /^[^:]*:\/\/[^/?#]*([^?#]*)/;

/**
 * Returns a function that finds the routes of a path; it returns null when no route has the path. A parameter
 * stands for any text that is not empty. Where a parameter and a literal segment fit, the literal one counts.
 */
export function routerOf(routes: readonly Route[]): (path: string) => PathMatch | null {
  const root = newNode();
  for (const [path, own] of Map.groupBy(routes, (route) => route.path)) {
    const segments = segmentsOf(path);
    const parameters = segments.flatMap((segment, at) => {
      const name = PARAMETER.exec(segment)?.[1];
      return name === undefined ? [] : [{ name, at }];
    });
    const byMethod = new Map(own.map((route) => [route.method, route]));
    segments.reduce(childOf, root).end = { path, byMethod, parameters };
  }
  return (rawPath) => {
    const segments = segmentsOf(rawPath);
    const found = find(root, segments, 0);
    if (found === null) return null;
    const { path, byMethod, parameters } = found;
    const values = parameters.map(({ name, at }) => [name, segments[at] ?? ""] as const);
    return { path, byMethod, params: Object.fromEntries(values) };
  };
}

/**
 * Returns the path of a URL as the client has written it: dot segments are not resolved, and percent-encoding
 * is not decoded.
 */
export function rawPathOf(url: string): string {
  return RAW_PATH.exec(url)?.[1] ?? "";
}

function segmentsOf(path: string): readonly string[] {
  const segments = path.split("/");
  return path.includes("%") ? segments.map(decoded) : segments;
}

/** Decodes percent-encoding; a segment in which it is not valid stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function newNode(): PathNode {
  return { literals: new Map(), parameter: null, end: null };
}

function childOf(node: PathNode, segment: string): PathNode {
  if (PARAMETER.test(segment)) return (node.parameter ??= newNode());
  const child = node.literals.get(segment) ?? newNode();
  node.literals.set(segment, child);
  return child;
}

function find(node: PathNode, segments: readonly string[], at: number): RoutedPath | null {
  const segment = segments[at];
  if (segment === undefined) return node.end;
  const literal = node.literals.get(segment);
  const found = literal === undefined ? null : find(literal, segments, at + 1);
  if (found !== null || segment === "" || node.parameter === null) return found;
  return find(node.parameter, segments, at + 1);
}
