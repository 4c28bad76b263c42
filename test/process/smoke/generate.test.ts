import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeProducts } from "../../../scripts/generate/make-products.ts";
import type { Product } from "../../../scripts/generate/product.ts";

let root = "";
const at = (path: string) => join(root, path);
const read = (path: string) => readFileSync(at(path), "utf8");

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "task-relay-generate-"));
  for (const folder of ["scripts/generate", "pages", "node_modules/tool"]) {
    await mkdir(at(folder), { recursive: true });
  }
  writeFileSync(at("scripts/generate.ts"), "");
  writeFileSync(at("pages/a.md"), "A");
  writeFileSync(at("title"), "Pages");
});
afterEach(() => rmSync(root, { recursive: true }));

/** A product that copies the title and the first page. */
const PAGES: Product = {
  name: "pages",
  sources: ["pages", "title"],
  needs: ["node_modules/tool"],
  make: async () => ({ "public/title": read("title"), "public/deep/a": read("pages/a.md") }),
};

it("npm run generate writes a group of generated files, such as the pages of the API, into folders that it creates, and prints the group's name", async () => {
  expect(await makeProducts([PAGES], root)).toBe("generated pages");
  expect([read("public/title"), read("public/deep/a")]).toEqual(["Pages", "A"]);
});

it("npm run generate makes nothing when every generated file is there and no source has changed since", async () => {
  await makeProducts([PAGES], root);
  expect(await makeProducts([PAGES], root)).toBe("");
});

it.each([
  ["a source has changed", () => writeFileSync(at("title"), "Other pages")],
  ["a folder of sources has a further file", () => writeFileSync(at("pages/b.md"), "B")],
  ["one of its files is missing", () => rmSync(at("public/deep/a"))],
  [
    "the program that generates files has changed",
    () => writeFileSync(at("scripts/generate/x"), ""),
  ],
])("npm run generate generates a group of files again when %s", async (_condition, change) => {
  await makeProducts([PAGES], root);
  change();
  expect(await makeProducts([PAGES], root)).toBe("generated pages");
  expect([read("public/title"), read("public/deep/a")]).toEqual([read("title"), "A"]);
});

it("npm run generate deletes a file that an earlier run has made and that no longer belongs to its group", async () => {
  await makeProducts([PAGES], root);
  writeFileSync(at("title"), "Other pages");
  await makeProducts([{ ...PAGES, make: async () => ({ "public/title": "T" }) }], root);
  expect([read("public/title"), existsSync(at("public/deep/a"))]).toEqual(["T", false]);
});

it("when a package that generated files need is not installed, npm run generate leaves these files as they are and says why", async () => {
  await makeProducts([PAGES], root);
  writeFileSync(at("title"), "Other pages");
  rmSync(at("node_modules/tool"), { recursive: true });
  expect(await makeProducts([PAGES, { ...PAGES, name: "more" }], root)).toBe(
    "not generated without node_modules/tool: pages, more",
  );
  expect(read("public/title")).toBe("Pages");
});

it("when generating a group of files has failed, the next npm run generate tries again", async () => {
  const failing = { ...PAGES, make: async () => Promise.reject(new Error("no page")) };
  await expect(makeProducts([failing], root)).rejects.toThrow("no page");
  expect(await makeProducts([PAGES], root)).toBe("generated pages");
});
