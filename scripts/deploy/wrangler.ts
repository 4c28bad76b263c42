import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import * as z from "zod";
import { Refusal } from "./refusal.ts";

const root = join(import.meta.dirname, "../..");
const WRANGLER = join(root, "node_modules/wrangler/bin/wrangler.js");

/** Signals that end the command, such as Ctrl-C. They end wrangler first, so that its file of secrets is deleted. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Result of one run of wrangler. */
export interface Run {
  readonly isSuccess: boolean;
  readonly stdout: string;
  /** Error output of wrangler, without colours. */
  readonly stderr: string;
  /** Records that wrangler writes for programs, in the format of `WRANGLER_OUTPUT_FILE_PATH`. */
  readonly notes: readonly Note[];
}

type Note = z.output<typeof Note>;
const Note = z.looseObject({
  type: z.string(),
  message: z.string().optional(),
  log_file_path: z.string().optional(),
  version_id: z.string().nullish(),
  targets: z.array(z.string()).nullish(),
});

/**
 * Runs the installed wrangler in the repository, without questions: its standard input is closed.
 * @param secrets are passed as a JSON file, which only this user can read and which is deleted afterwards,
 * because wrangler replaces names such as `$HOME` in other files, and prefers environment variables to them.
 * @throws Refusal when a signal has ended it.
 */
export async function runWrangler(
  args: readonly string[],
  secrets: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const directory = await mkdtemp(join(tmpdir(), "task-relay-deploy-"));
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    const notesFile = join(directory, "notes.ndjson");
    const secretsFile = join(directory, "secrets.json");
    await writeFile(secretsFile, JSON.stringify(secrets), { mode: 0o600 });
    const sent = Object.keys(secrets).length === 0 ? [] : ["--secrets-file", secretsFile];
    const child = spawn(process.execPath, [WRANGLER, ...args, ...sent], {
      cwd: root,
      env: {
        ...process.env,
        WRANGLER_SEND_METRICS: "false",
        WRANGLER_HIDE_BANNER: "true",
        WRANGLER_OUTPUT_FILE_PATH: notesFile,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    interruption.signal.addEventListener("abort", () => child.kill());
    const code = new Promise((resolve) => child.once("close", resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const isSuccess = (await code) === 0;
    if (interruption.signal.aborted) throw new Refusal("Interrupted", "run this command again");
    const notes = await readFile(notesFile, "utf8").catch(() => "");
    return { isSuccess, stdout, stderr: stripVTControlCharacters(stderr), notes: notesIn(notes) };
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await rm(directory, { recursive: true, force: true });
  }
}

function notesIn(lines: string): readonly Note[] {
  const parsed = lines.split("\n").filter((line) => line !== "");
  return parsed.flatMap((line) => Note.safeParse(JSON.parse(line)).data ?? []);
}
