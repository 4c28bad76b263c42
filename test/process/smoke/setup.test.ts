import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";

const FILES = [".dev.vars", ".secrets"];
const SECRET_LINES = /^RELAY_SECRET="([\w-]{43})"\nOPERATOR_KEYS="([\w-]{43})"\n$/;

it("npm run setup generates different secrets for each file, readable by the owner only, and keeps existing files", async () => {
  const copy = await mkdtemp(join(tmpdir(), "task-relay-setup-"));
  const setup = () => promisify(execFile)(process.execPath, ["scripts/setup.ts"], { cwd: copy });
  const contents = () => Promise.all(FILES.map((file) => readFile(join(copy, file), "utf8")));
  try {
    for (const path of ["scripts", "package.json", "wrangler.toml", "src/config/placement.ts"]) {
      await cp(join(ROOT, path), join(copy, path), { recursive: true });
    }

    const first = await setup();
    const written = await contents();
    const modes = await Promise.all(FILES.map(async (file) => (await stat(join(copy, file))).mode));
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o600, 0o600]);
    const secrets = written.flatMap((content) => SECRET_LINES.exec(content)?.slice(1) ?? []);
    expect(new Set(secrets).size).toBe(4);
    for (const secret of secrets) expect(first.stdout + first.stderr).not.toContain(secret);

    await setup();
    expect(await contents()).toEqual(written);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});
