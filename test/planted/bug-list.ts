import { globSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The tree of which copies get planted bugs. */
export const ROOT = join(import.meta.dirname, "../..");

/** A plausible mistake, given as changes to the sources. */
export interface Bug {
  readonly what: string;
  /** Test files that are expected to notice the bug, as paths in `test`; none for a bug that simulated lives find. */
  readonly tests: readonly string[];
  readonly changes: readonly Change[];
}

interface Change {
  /** Name of a file of `src`, which no other has, or the end of its path. */
  readonly file: string;
  /** Text to change, which occurs once in the file. */
  readonly text: string;
  readonly instead: string;
}

const BUG = /^(?:# (.*)\n)?(?![-+@#?] )(.+)\n((?:\? .*\n)*)((?:[-+@] .*\n)+)\n?/gm;
const CHANGE = /(?:^@ (.*)\n)?((?:^- .*\n)+)((?:^\+ .*\n)*)/gm;

/**
 * Reads a list of bugs. Under the name of a source file stands the name of each bug, and under it the test files
 * that notice it (`?`), and each text to change (`-`) with its replacement (`+`); `@` names another file for the next
 * change.
 * @throws when a part of the list cannot be read.
 */
export function bugsIn(path: string): readonly Bug[] {
  const list = readFileSync(path, "utf8");
  const rest = list.replaceAll(BUG, "");
  if (rest !== "") throw new Error(`${path} cannot be read at: ${rest}`);
  let file = "";
  return [...list.matchAll(BUG)].map(([, heading, what = "", tests = "", lines = ""]) => {
    file = heading ?? file;
    const changes = [...lines.matchAll(CHANGE)].map(([, other, text = "", instead = ""]) => {
      return { file: other ?? file, text: withoutMarks(text), instead: withoutMarks(instead) };
    });
    return { what, tests: withoutMarks(tests).split(/\s+/).filter(Boolean), changes };
  });
}

function withoutMarks(lines: string): string {
  return lines.replaceAll(/^. /gm, "").replace(/\n$/, "");
}

/** Returns the path of a source file in a copy of the tree. @throws when there is not exactly one with this name. */
export function sourceOf(file: string, home: string): string {
  const [path, ...others] = globSync(`src/**/${file}`, { cwd: home });
  if (path === undefined || others.length > 0) throw new Error(`not one file of src is ${file}`);
  return join(home, path);
}

/**
 * Plants a bug in a copy of the tree.
 * @returns a function that removes the bug.
 * @throws when a text to change does not occur once in its file; nothing is changed then.
 */
export async function plant({ what, changes }: Bug, home: string): Promise<() => Promise<void>> {
  const sources = new Map<string, string>();
  const changed = new Map<string, string>();
  for (const { file, text, instead } of changes) {
    const path = sourceOf(file, home);
    const source = changed.get(path) ?? (await readFile(path, "utf8"));
    if (source.split(text).length !== 2) {
      throw new Error(`${what}: the text to change is not once in ${file}: ${text}`);
    }
    if (!changed.has(path)) sources.set(path, source);
    changed.set(
      path,
      source.replace(text, () => instead),
    );
  }
  await writeAll(changed);
  return () => writeAll(sources);
}

async function writeAll(sources: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, source] of sources) await writeFile(path, source);
}
