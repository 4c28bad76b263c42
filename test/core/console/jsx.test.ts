import { expect, it } from "vitest";
import { Fragment, jsx } from "../../../src/console/jsx/jsx-runtime.ts";

const HOSTILE = `<b>&"'`;
const ESCAPED = "&lt;b&gt;&amp;&quot;&#39;";
const inner = jsx("i", { children: "<" });

it.each([
  ["the text in an element", jsx("p", { children: HOSTILE }), `<p>${ESCAPED}</p>`],
  ["an attribute", jsx("p", { title: HOSTILE }), `<p title="${ESCAPED}"></p>`],
  ["the text that a component returns", jsx(() => HOSTILE, {}), ESCAPED],
  [
    "a list in a fragment",
    jsx(Fragment, { children: [HOSTILE, [2, inner]] }),
    `${ESCAPED}2<i>&lt;</i>`,
  ],
  ["an element in an element", jsx("p", { children: inner }), "<p><i>&lt;</i></p>"],
  ["nothing", jsx("p", { children: [null, undefined, true, false, ""] }), "<p></p>"],
  [
    "an element without end tag, with attributes that are true, false, empty and nothing",
    jsx("input", { disabled: true, checked: false, value: undefined, name: "" }),
    '<input disabled="" name="">',
  ],
])("%s is rendered as HTML in which everything but elements is escaped", (_, element, text) => {
  expect(element.toString()).toBe(text);
});
