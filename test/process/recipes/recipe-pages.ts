import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../harness/child.ts";
import { shellBlocks } from "../readme/shell-blocks.ts";

/** What a run puts in place of the addresses and the variables of a recipe. */
interface Places {
  readonly relay: string;
  readonly receiver: string;
  readonly env: Readonly<Record<string, string>>;
  /** Directory of the files that the command reads. */
  readonly cwd?: string;
}

/** Returns the block of code that a recipe shows after a line that ends with the name of its file: "`app.py`:". */
export function codeOf(recipe: string, file: string): string {
  const page = readFileSync(join(ROOT, "docs/recipes", `${recipe}.md`), "utf8");
  const [, after] = page.split(`\`${file}\`:\n\n`);
  const code = /^```\w+\n([^]*?)^```$/m.exec(after ?? "")?.[1];
  if (code === undefined) throw new Error(`docs/recipes/${recipe}.md shows no file ${file}`);
  return code;
}

/** Runs the block of commands of a recipe that contains a text. @returns what it prints. */
export async function runOf(
  recipe: string,
  part: string,
  { relay, receiver, env, cwd = ROOT }: Places,
): Promise<string> {
  const block = shellBlocks(`docs/recipes/${recipe}.md`).find(({ code }) => code.includes(part));
  if (block === undefined) throw new Error(`docs/recipes/${recipe}.md has no command with ${part}`);
  const code = block.code
    .replaceAll("https://relay.example.com", relay)
    .replaceAll("https://client.example.com", receiver);
  const options = { cwd, env: { ...process.env, ...env } };
  return (await promisify(execFile)("bash", ["-ec", code], options)).stdout;
}

/** Returns the JSON that a recipe shows first. */
export function jsonOf(recipe: string): unknown {
  const page = readFileSync(join(ROOT, "docs/recipes", `${recipe}.md`), "utf8");
  return JSON.parse(/^```json\n([^]*?)^```$/m.exec(page)?.[1] ?? "");
}
