import { execFile, execFileSync } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../harness/child.ts";

/**
 * The way in which a receiver of docs/receive.md is installed and started, by shell commands in a directory of
 * its own.
 */
export interface Runtime {
  /** Heading of the receiver in docs/receive.md. */
  readonly heading: string;
  /** Commands that must be installed. */
  readonly needs: readonly string[];
  /** Directory of `packages/` with the pinned packages; null where `install` names them. */
  readonly packages: string | null;
  /** File that the code of the page is written to. */
  readonly file: string;
  readonly install: string;
  readonly start: string;
  /** Most lines that the receiver may have, without empty ones. */
  readonly maxLines: number;
}

const MAX_LINES = 15;
const NPM = "npm ci --ignore-scripts --no-audit --no-fund";

export const RUNTIMES: readonly Runtime[] = [
  node("Node with Express", "node", "receive.js", "true", "node receive.js"),
  node("Node with Hono", "node", "receive.js", "true", "node receive.js"),
  node("Next.js", "next", "app/callbacks/route.js", "npx next build", "npx next start -p $PORT"),
  {
    heading: "Python with FastAPI",
    needs: ["python3"],
    packages: "python",
    file: "receive.py",
    install: "python3 -m venv . && bin/pip install -q -r requirements.txt",
    start: "bin/uvicorn receive:app --port $PORT",
    maxLines: MAX_LINES,
  },
  {
    heading: "Go",
    needs: ["go"],
    packages: "go",
    file: "main.go",
    install: `test -z "$(gofmt -l .)" && go vet . && go build -o receiver .`,
    start: "./receiver",
    // Go names each package that it imports, on a line of its own.
    maxLines: 35,
  },
  {
    heading: "PHP",
    needs: ["php", "composer"],
    packages: null,
    file: "receive.php",
    install: `composer require -n standard-webhooks/standard-webhooks && php -r '(new PDO("sqlite:callbacks.db"))->exec(getenv("TABLE"));'`,
    start: "php -S 127.0.0.1:$PORT receive.php",
    maxLines: MAX_LINES,
  },
  {
    heading: "Ruby with Sinatra",
    needs: ["ruby", "gem"],
    packages: null,
    file: "receive.rb",
    install: "gem install --no-document standardwebhooks base64 sinatra rackup puma",
    start: "ruby receive.rb",
    maxLines: MAX_LINES,
  },
];

function node(
  heading: string,
  packages: string,
  file: string,
  build: string,
  start: string,
): Runtime {
  const common = { heading, needs: ["npm"], packages, file, maxLines: MAX_LINES };
  return { ...common, install: `${NPM} && ${build}`, start };
}

/** Returns the first command that a runtime needs and that is not installed. */
export function missingCommand({ needs }: Runtime): string | undefined {
  return needs.find((name) => {
    try {
      execFileSync("sh", ["-c", `command -v ${name}`]);
      return false;
    } catch {
      return true;
    }
  });
}

/** Pattern of the errors of a package client that reaches no registry. */
const NO_REGISTRY =
  /ENOTFOUND|EAI_AGAIN|ECONN(?:REFUSED|RESET)|ETIMEDOUT|Connection refused|NewConnectionError|Temporary failure in name|timed out|no such host|dial tcp|curl error|Could not resolve|Unable to download data|from versions: none/i;

/**
 * Writes a receiver into a directory and installs what it needs.
 * @returns why the registry of its packages cannot be used; null when all is installed.
 */
export async function install(
  runtime: Runtime,
  code: string,
  directory: string,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (runtime.packages !== null) {
    const packages = join(import.meta.dirname, "packages", runtime.packages);
    await cp(packages, directory, { recursive: true });
  }
  const file = join(directory, runtime.file);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, code);
  try {
    await promisify(execFile)("sh", ["-c", runtime.install], { cwd: directory, env });
    return null;
  } catch (error) {
    const line = NO_REGISTRY.exec(String(error))?.[0];
    const output = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    const reason = line ?? NO_REGISTRY.exec(output)?.[0];
    if (reason === undefined) throw error;
    return `the registry of ${runtime.needs.at(-1)} cannot be reached (${reason})`;
  }
}

/** Returns the code blocks of docs/receive.md below a heading. */
export async function blocksBelow(heading: string): Promise<readonly string[]> {
  const page = await readFile(join(ROOT, "docs/receive.md"), "utf8");
  const sections = page.split(/^#+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^```\w+\n([^]*?)^```$/gm)].map(([, code = ""]) => code);
}
