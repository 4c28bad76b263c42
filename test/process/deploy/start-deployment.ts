import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { newcomersEnvironment } from "../readme/checkout.ts";

/** Directories, platform and login with which a command runs. */
interface Place {
  readonly directory: string;
  /** Directory for what programs keep for their user, and for temporary files. */
  readonly home: string;
  /** Origin that takes the place of Cloudflare's API. */
  readonly api: string;
  /** API token; empty without a login. */
  readonly token: string;
}

/** Starts a program of Node that runs wrangler, which finds no other login and no other API than these. */
export function startDeployment(
  [program = "", ...args]: readonly string[],
  { directory, home, api, token }: Place,
) {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: {
      ...newcomersEnvironment(),
      HOME: home,
      TMPDIR: home,
      XDG_CONFIG_HOME: home,
      WRANGLER_CACHE_DIR: home,
      WRANGLER_HIDE_BANNER: "true",
      // Wrangler starts in two thirds of the time with it.
      NODE_COMPILE_CACHE: join(directory, ".compile-cache"),
      CLOUDFLARE_API_BASE_URL: api,
      CLOUDFLARE_API_TOKEN: token,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const end = async () => {
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { status: await exit, stdout, stderr };
  };
  return { child, ended: end() };
}
