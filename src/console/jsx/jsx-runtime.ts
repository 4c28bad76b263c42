/**
 * Renders JSX to text, on the server only. hono/jsx, which also renders in browsers and as a stream, is ten times
 * as large. All text is escaped, in elements and in attributes; only elements are written as they are.
 */

/** HTML text, which is written as it is. Whoever makes it has escaped its parts. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What can stand between the tags of an element. */
export type Child = Html | string | number | boolean | null | undefined | readonly Child[];

/** Properties of a component that has children. */
export type PropsWithChildren<Props = unknown> = Props & { readonly children?: Child };

type Value = string | number | boolean | null | undefined;

interface Properties {
  readonly children?: Child;
  readonly [name: string]: Value | Child;
}

type Component<Props> = (props: Props) => Child;

/** Elements that have no end tag (https://html.spec.whatwg.org/multipage/syntax.html#void-elements). */
const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Makes an element, or calls a component. Attributes that are null, undefined or false are left out. */
export function jsx<Props extends Properties>(type: string | Component<Props>, props: Props): Html {
  if (typeof type === "function") return new Html(childText(type(props)));
  const { children, ...attributes } = props;
  const head = `<${type}${attributesText(attributes)}`;
  return new Html(VOID.has(type) ? `${head}>` : `${head}>${childText(children)}</${type}>`);
}

export { jsx as jsxs, jsx as jsxDEV };

/** Returns its children without an element around them. */
export function Fragment({ children }: PropsWithChildren): Html {
  return new Html(childText(children));
}

function attributesText(attributes: Readonly<Record<string, Value | Child>>): string {
  return Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([name, value]) => ` ${name}="${value === true ? "" : escaped(String(value))}"`)
    .join("");
}

function childText(child: Child): string {
  if (child === null || child === undefined || typeof child === "boolean") return "";
  if (child instanceof Html) return child.toString();
  return Array.isArray(child) ? child.map(childText).join("") : escaped(String(child));
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

export type * as JSX from "./types.ts";
