// Writes the documents that are generated from the code; run by `npm run docs`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vectorFiles } from "./conformance/vectors.ts";
import { errorsDoc } from "./errors-doc.ts";
import { openApiText } from "./openapi/document.ts";

const write = (path: string, text: string) =>
  writeFileSync(join(import.meta.dirname, "..", path), text);

write("docs/errors.md", errorsDoc());
write("openapi.json", openApiText());
for (const [name, text] of await vectorFiles()) write(`conformance/${name}`, text);
