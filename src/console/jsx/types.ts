import type { Child, Html } from "./jsx-runtime.ts";

/** Types that the compiler reads as the namespace `JSX`. */

export type Element = Html;

export type ElementType = string | ((props: never) => Child);

export interface ElementChildrenAttribute {
  readonly children: Child;
}

/** Attributes of every element; their names are not checked. */
interface Attributes {
  readonly children?: Child;
  readonly [name: string]: Child;
}

export type IntrinsicElements = Readonly<Record<string, Attributes>>;
