import { spawnSync } from "node:child_process";

/** Tells whether a program is installed. */
export function isInstalled(program: string): boolean {
  return spawnSync("sh", ["-c", `command -v "$0"`, program]).status === 0;
}

/**
 * Skips a test whose programs are not all installed, so that the summary of the run names the first that is missing.
 * @throws in CI (`CI` is set), where `.ci/run` installs them.
 */
export function skipWithout(
  programs: readonly string[],
  skip: (condition: boolean, note: string) => void,
): void {
  const missing = programs.find((program) => !isInstalled(program));
  if (missing === undefined) return;
  if ((process.env["CI"] ?? "") !== "") throw new Error(`${missing} is not installed`);
  skip(true, `${missing} is not installed`);
}
