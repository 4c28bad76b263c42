// Writes the documents that are generated from the code; run by `npm run docs`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vectorFiles } from "./conformance/vectors.ts";
import { errorsDoc } from "./errors-doc.ts";

const ROOT = join(import.meta.dirname, "..");
writeFileSync(join(ROOT, "docs/errors.md"), errorsDoc());
for (const [name, text] of await vectorFiles())
  writeFileSync(join(ROOT, "conformance", name), text);
