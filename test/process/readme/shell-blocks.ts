import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../harness/child.ts";

/** A block of shell commands of a document. */
export interface ShellBlock {
  /** The document, by its path in the repository. */
  readonly page: string;
  /** Line of the document on which the block begins. */
  readonly line: number;
  readonly code: string;
  /**
   * States that the commands need a real Cloudflare account, a real upstream or root on a machine, so that the
   * test of all documents does not run them.
   */
  readonly needsAccount: boolean;
}

/** All documents of the repository, by their paths. */
export function documents(): readonly string[] {
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"];
  const files = execFileSync("git", listed, { cwd: ROOT, encoding: "utf8" }).split("\0");
  return files.filter((file) => file !== "");
}

/** Returns the blocks of shell commands of a document: those marked `sh` and `sh account`. */
export function shellBlocks(page: string): readonly ShellBlock[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const blocks = text.matchAll(/^( *)```sh( account)?\n([^]*?)^ *```$/gm);
  return Array.from(blocks, ({ index, 1: indent = "", 2: account, 3: code = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    needsAccount: account !== undefined,
  }));
}

/** Returns the files that a document tells its reader to save, by name: "Save this as `x`" and a block of code. */
export function savedFiles(page: string): readonly (readonly [string, string])[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const files = text.matchAll(/[Ss]ave this as `([\w.-]+)`[^`]*```\w+\n([^]*?)^```$/gm);
  return Array.from(files, ([, name = "", content = ""]) => [name, content]);
}
