import { type Node, parseTree } from "jsonc-parser";

/**
 * Returns the paths of those members in a JSON text that repeat the name of an earlier member of the same object. Of
 * such members, the JSON parser would keep only the last one.
 */
export function repeatedMembers(json: string): readonly (readonly string[])[] {
  const root = parseTree(json);
  return root === undefined ? [] : repeatedIn(root, []);
}

function repeatedIn(node: Node, path: readonly string[]): readonly (readonly string[])[] {
  const { children = [] } = node;
  if (node.type === "array") {
    return children.flatMap((child, i) => repeatedIn(child, [...path, String(i)]));
  }
  if (node.type !== "object") return [];
  const names = children.map(({ children: [name] = [] }) => String(name?.value));
  return children.flatMap(({ children: [, value] = [] }, i) => {
    const name = names[i] ?? "";
    const own = [...path, name];
    const inner = value === undefined ? [] : repeatedIn(value, own);
    return names.indexOf(name) < i ? [own, ...inner] : inner;
  });
}
