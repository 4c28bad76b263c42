import type { ShellBlock } from "./shell-blocks.ts";

/** Addresses at which the commands of the documents reach their servers during the tests. */
export interface Addresses {
  /** Port of the relay, in place of 8787. */
  readonly relay: number;
  /** Port of the receiver that the page itself starts, in place of 3000. */
  readonly ownReceiver: number;
  /** Port of a receiver that always runs, in place of `client.example.com`. */
  readonly receiver: number;
}

/** Commands that keep running; the rest of the page is run while they do. */
const SERVER = /^(?:node \S+\.mjs|npm run (?:receive|listen)\b)/m;
const READY_WITHIN_S = 20;
/** Ends the servers of a page with their child processes, and prints what they have printed. */
const FINALLY = `set -m
end_servers() {
  for job in $(jobs -p); do kill -9 -- -$job 2> /dev/null || true; done
  [ ! -f .servers ] || { cat .servers; rm .servers; }
}
trap end_servers EXIT`;

/** Returns the options for the relay, of all blocks that start one: `--var NAME:value`, the value perhaps in quotes. */
export function relayOptions(blocks: readonly ShellBlock[]): readonly string[] {
  const options = blocks
    .filter(({ code }) => /\bnpm start\b/.test(code))
    .flatMap(({ code }) => code.match(/(?<=--var )(?:'[^']+'|\S+)/g) ?? [])
    .map((option) => option.replaceAll("'", ""));
  return [...new Set(options)].flatMap((option) => ["--var", option]);
}

/**
 * Returns a script of bash that runs the blocks of a page in order, in one shell. `# → text` expects that
 * the commands before it, since the last such line, have printed the text: {@link unmetExpectations}.
 */
export function pageScript(blocks: readonly ShellBlock[], addresses: Addresses): string {
  const parts = blocks.map(({ page, line, code }) => {
    const commands = runnable(code, addresses).replaceAll(/^# → (.*)$/gm, (_, text: string) => {
      const quoted = text.replaceAll("'", String.raw`'\''`);
      return `echo; echo '→ ${quoted}'`;
    });
    return `echo '${page}:${line}' >&2\n${SERVER.test(commands) ? inBackground(commands, addresses) : commands}`;
  });
  return [FINALLY, ...parts].join("\n");
}

/** Lists the texts that a page promises as output and its commands have not printed. */
export function unmetExpectations(output: string): readonly string[] {
  const parts = output.split(/^→ (.*)$/m);
  return parts.flatMap((text, at) => {
    if (at % 2 === 0) return [];
    // Several expectations in a row are about the same output.
    const before = parts.slice(0, at).filter((part, i) => i % 2 === 0 && part.trim() !== "");
    return (before.at(-1) ?? "").includes(text) ? [] : [text];
  });
}

/** Runs the last command of a block in the background, and waits until it is ready. */
function inBackground(commands: string, { ownReceiver }: Addresses): string {
  const isReady = commands.includes("npm run listen")
    ? "grep -q Connected .servers"
    : `(: < /dev/tcp/127.0.0.1/${ownReceiver}) 2> /dev/null`;
  return `${commands.trim()} < /dev/null >> .servers 2>&1 &
timeout ${READY_WITHIN_S} bash -c 'until ${isReady}; do sleep 0.1; done'`;
}

/**
 * Replaces addresses, and what would install, deploy, start a second relay or run the tests within a test.
 * `npm run demo`, which starts its own relay, has a test of its own (demo.test.ts).
 */
function runnable(code: string, { relay, ownReceiver, receiver }: Addresses): string {
  return code
    .replaceAll("npm ci && ", "")
    .replace(/^npm (?:start|test|run demo)\b.*/gm, "true")
    .replaceAll("https://relay.example.com", "http://localhost:8787")
    .replaceAll("localhost:8787", `localhost:${relay}`)
    .replaceAll("localhost:3000", `localhost:${ownReceiver}`)
    .replaceAll("https://client.example.com", `http://localhost:${receiver}`)
    .replaceAll(
      /npm run receive(?: --)?/g,
      `npm run receive -- --relay http://localhost:${relay} --port ${ownReceiver}`,
    )
    .replaceAll(/npm run listen(?: --)?/g, `npm run listen -- --relay http://localhost:${relay}`)
    .replaceAll("whsec_…", "$CALLBACK_SECRET")
    .replaceAll("npx wrangler deploy", "npx wrangler deploy --dry-run")
    .replaceAll("npm run deploy:first", "npm run deploy -- --dry-run");
}

/** An operation in the reference that a relay serves at `/docs`: its method and path, and its command of curl. */
export interface ReferenceCommand {
  readonly method: string;
  readonly path: string;
  readonly command: string;
}

const OPERATION =
  /<section class="operation"[^]*?class="badge[^>]*>(\w+)<\/span> <code>(.*?)<\/code>[^]*?<pre><code>(curl [^]*?)<\/code>/g;
const ENTITIES = { "&quot;": '"', "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/** Returns the commands of the reference, whose HTML is given, for a relay with this origin. */
export function referenceCommands(html: string, origin: string): readonly ReferenceCommand[] {
  return Array.from(html.matchAll(OPERATION), ([, method = "", path = "", code = ""]) => {
    const text = Object.entries(ENTITIES).reduce(
      (left, [entity, character]) => left.replaceAll(entity, character),
      code,
    );
    const command = text.replace(/^(curl \S+ '?)https?:\/\/[^/]+/, `$1${origin}`);
    return { method, path, command };
  });
}

/** Returns a script that runs commands of the reference and prints the HTTP status of each answer. */
export function referenceScript(commands: readonly ReferenceCommand[]): string {
  const curl = `curl() { command curl -sS --max-time 10 "\${@:2}" -o /dev/null -w '%{http_code}\\n'; }`;
  return [curl, ...commands.map(({ command }) => command)].join("\n");
}
