import { expect, it } from "vitest";
import PROMISES_PAGE from "../../docs/promises.md?raw";
import README from "../../README.md?raw";

const lines = [...README.matchAll(/^(\d)\. \*\*\[(.+)\]\(docs\/promises\.md#.*$/gm)];

it("README.md names the promises of docs/promises.md in their order", () => {
  const headings = PROMISES_PAGE.matchAll(/^## (\d)\. (.+)$/gm);
  const promises = Array.from(headings, ([, number, promise]) => `${number} ${promise}`);
  expect(promises).toHaveLength(8);
  expect(lines.map(([, number, promise]) => `${number} ${promise}`)).toEqual(promises);
});

it.each(lines.map(([line, number]) => [number, line]))(
  "every number that README.md states for its promise no. %s is also among the figures of docs/promises.md",
  (_, line = "") => {
    const [, figures = ""] = PROMISES_PAGE.split("\n## Figures\n");
    const [, stated = ""] = /(?<!\*)\*([^*]+)\*(?!\*)/.exec(line) ?? [];
    const numbers = stated.match(/(?:p\d+ )?\d[\d,.]*(?: (?:ms|%|million))?/g) ?? [];
    expect(numbers.length).toBeGreaterThan(0);
    const isFigure = (number: string) =>
      new RegExp(`(?<![\\d.,])${number.replaceAll(".", String.raw`\.`)}(?!\\d|[.,]\\d)`).test(
        figures,
      );
    expect(numbers.filter((number) => !isFigure(number))).toEqual([]);
  },
);
