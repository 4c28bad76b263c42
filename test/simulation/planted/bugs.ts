import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A plausible mistake, given as changes to the sources. */
export interface Bug {
  readonly what: string;
  readonly changes: readonly Change[];
}

interface Change {
  /** Path in `src`. */
  readonly file: string;
  /** Text to change, which occurs once in the file. */
  readonly text: string;
  readonly instead: string;
}

const BUG = /^(?:# (.*)\n)?(?![-+@#] )(.+)\n((?:[-+@] .*\n)+)\n?/gm;
const CHANGE = /(?:^@ (.*)\n)?((?:^- .*\n)+)((?:^\+ .*\n)*)/gm;

/**
 * The bugs in `bugs.txt`. Under the heading of a source file stands the name of each bug, and under it each
 * text to change (`-`) with its replacement (`+`); `@` names another file for the next change.
 */
export const BUGS = parsed(readFileSync(join(import.meta.dirname, "bugs.txt"), "utf8"));

function parsed(list: string): readonly Bug[] {
  const rest = list.replaceAll(BUG, "");
  if (rest !== "") throw new Error(`bugs.txt cannot be read at: ${rest}`);
  let file = "";
  return [...list.matchAll(BUG)].map(([, heading, what = "", lines = ""]) => {
    file = heading ?? file;
    const changes = [...lines.matchAll(CHANGE)].map(([, other, text = "", instead = ""]) => {
      return { file: other ?? file, text: withoutMarks(text), instead: withoutMarks(instead) };
    });
    return { what, changes };
  });
}

function withoutMarks(lines: string): string {
  return lines.replaceAll(/^. /gm, "").replace(/\n$/, "");
}
