import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import * as z from "zod";
import { ROOT } from "../process/harness/child.ts";

/** Name of a browser to try, and how it is launched; finding the options may unpack the browser. */
export type Candidate = readonly [name: string, options: () => Promise<LaunchOptions>];

const Manifest = z.object({ version: z.string() });
const require = createRequire(import.meta.url);
const CACHE = join(ROOT, "node_modules/.cache/task-relay");
/**
 * Options of the browser. Names of other hosts are not resolved, so no request of a page leaves this machine.
 */
const ARGS = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"];

/** Generic font families of the stylesheets, each with the font that stands for it. */
const FONTS = [
  ["sans-serif", "Open Sans"],
  ["system-ui", "Open Sans"],
  ["monospace", "DejaVu Sans Mono"],
  ["ui-monospace", "DejaVu Sans Mono"],
] as const;

const HOW_TO_GET_ONE =
  "npm ci installs a Chromium for Linux on x64, which needs the system's libnss3 and libnspr4. Elsewhere " +
  "install Google Chrome or Chromium, or set CHROMIUM to the path of its executable.";

/** The browser that `CHROMIUM` names, or else the pinned one, or else one that the system has. */
const CANDIDATES: readonly Candidate[] =
  process.env["CHROMIUM"] === undefined
    ? [
        ["the npm package @sparticuz/chromium", packaged],
        ["Google Chrome", async () => ({ channel: "chrome" })],
        ["/usr/bin/chromium", async () => ({ executablePath: "/usr/bin/chromium" })],
      ]
    : [["CHROMIUM", async () => ({ executablePath: process.env["CHROMIUM"] ?? "" })]];

/** Starts the first browser that works. @throws when none works; the message says how to get one. */
export async function launchChromium(candidates = CANDIDATES): Promise<Browser> {
  const reasons: string[] = [];
  for (const [name, options] of candidates) {
    try {
      return await chromium.launch({ args: ARGS, ...(await options()) });
    } catch (error) {
      reasons.push(`${name}: ${String(error).split("\n")[0] ?? ""}`);
    }
  }
  throw new Error(`no browser starts. ${HOW_TO_GET_ONE}\n${reasons.join("\n")}`);
}

/** Unpacks the Chromium of the npm package, once per version. */
async function packaged(): Promise<LaunchOptions> {
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("Linux on x64 only");
  const entry = require.resolve("@sparticuz/chromium");
  const manifest = readFileSync(join(entry, "../../package.json"), "utf8");
  const home = join(CACHE, `chromium-${Manifest.parse(JSON.parse(manifest)).version}`);
  if (!existsSync(home)) await unpack(home);
  const env = { ...process.env, FONTCONFIG_FILE: join(home, "fonts.conf") };
  return { executablePath: join(home, "chromium"), env };
}

/**
 * Fills the directory `home` in one step (by a rename), so that an interrupted run leaves no incomplete
 * browser behind.
 */
async function unpack(home: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const fresh = await mkdtemp(`${home}-`);
  try {
    const script = 'await (await import("@sparticuz/chromium")).default.executablePath()';
    const env = { ...process.env, TMPDIR: fresh };
    const args = ["--input-type=module", "--eval", script];
    await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
    await writeFile(join(fresh, "fonts.conf"), fontsConfig(join(home, "fonts")));
    await rename(fresh, home);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    // Another process has unpacked the browser meanwhile.
    if (!existsSync(home)) throw error;
  }
}

/**
 * Writes a configuration that prefers the package's own font to those of the system, so that pages look alike
 * on all machines.
 */
function fontsConfig(directory: string): string {
  const aliases = FONTS.map(
    ([family, font]) =>
      `<match target="pattern"><test name="family"><string>${family}</string></test>` +
      `<edit name="family" mode="prepend" binding="strong"><string>${font}</string></edit></match>`,
  );
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>${directory}</dir>
<dir>/usr/share/fonts</dir>
<cachedir>${directory}-cache</cachedir>
${aliases.join("\n")}
</fontconfig>
`;
}
