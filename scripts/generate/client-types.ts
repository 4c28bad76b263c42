import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Product } from "./product.ts";

const ROOT = join(import.meta.dirname, "../..");
const GENERATOR = "client/node_modules/openapi-typescript";
const MAX_BYTES = 16 * 1024 * 1024;

/** The types of the API, of which the client's types are made. */
export const clientTypes: Product = {
  name: "client-types",
  sources: ["openapi.json", "package-lock.json"],
  needs: [GENERATOR],
  make: async () => {
    const program = join(ROOT, GENERATOR, "bin/cli.js");
    const options = { cwd: ROOT, maxBuffer: MAX_BYTES };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, "openapi.json"],
      options,
    );
    return { "client/src/schema.d.ts": stdout };
  },
};
