import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Product } from "./product.ts";

const ROOT = join(import.meta.dirname, "../..");
const GENERATOR = "client/node_modules/openapi-typescript";
const MAX_BYTES = 16 * 1024 * 1024;

/** The types of the API, of which the client's types are made. */
export const clientTypes = typesOf("client-types", "openapi.json", "client/src/schema.d.ts");

/** The types of the kept release's API, with which the present ones are compared. */
export const keptTypes = typesOf(
  "kept-types",
  "test/kept-release/openapi.json",
  "client/compatibility/kept-schema.d.ts",
);

/** The types of a description of an API. */
function typesOf(name: string, description: string, output: string): Product {
  return {
    name,
    sources: [description, "package-lock.json"],
    needs: [GENERATOR],
    make: async () => {
      const args = [join(ROOT, GENERATOR, "bin/cli.js"), description];
      const options = { cwd: ROOT, maxBuffer: MAX_BYTES };
      const { stdout } = await promisify(execFile)(process.execPath, args, options);
      return { [output]: stdout };
    },
  };
}
