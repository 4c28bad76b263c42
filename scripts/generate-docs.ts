// Writes the documents that are generated from the code; run by `npm run docs`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorsDoc } from "./errors-doc.ts";

writeFileSync(join(import.meta.dirname, "../docs/errors.md"), errorsDoc());
