import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorsDoc } from "../../scripts/errors-doc.ts";

it("docs/errors.md is what `npm run docs` generates from the table of all problem codes with their causes and cures", () => {
  const path = join(import.meta.dirname, "../../docs/errors.md");
  expect(readFileSync(path, "utf8")).toBe(errorsDoc());
});
