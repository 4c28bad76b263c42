import { writeSecrets } from "./secrets-files.ts";

for (const { file, isNew } of writeSecrets()) {
  console.log(`${file} ${isNew ? "written" : "kept as it is"}`);
}
