import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorsDoc } from "../../scripts/errors-doc.ts";
import { openApiText } from "../../scripts/openapi/document.ts";

const textOf = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");

it("docs/errors.md is what `npm run docs` generates from the table of all problem codes with their causes and cures", () => {
  expect(textOf("docs/errors.md")).toBe(errorsDoc());
});

it("openapi.json is what `npm run docs` generates from the table of all routes with their descriptions and schemas", () => {
  expect(textOf("openapi.json")).toBe(openApiText());
});
