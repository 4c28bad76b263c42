import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/child.ts";

/** Returns the block of code that a recipe shows after a line that ends with the name of its file: "`app.py`:". */
export function codeOf(recipe: string, file: string): string {
  const page = readFileSync(join(ROOT, "docs/recipes", `${recipe}.md`), "utf8");
  const [, after] = page.split(`\`${file}\`:\n\n`);
  const code = /^```\w+\n([^]*?)^```$/m.exec(after ?? "")?.[1];
  if (code === undefined) throw new Error(`docs/recipes/${recipe}.md shows no file ${file}`);
  return code;
}
