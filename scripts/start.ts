// Starts the relay on this machine, with secrets where there are none. Run by `npm start`, whose arguments
// go to `wrangler dev`.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { reportSecrets } from "./secrets-files.ts";
import { startArguments } from "./start-arguments.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

reportSecrets();
const files = { toml: read("wrangler.toml"), devVars: read(".dev.vars") };
const args = startArguments(process.argv.slice(2), files, await freePort(8787));
const wrangler = join(root, "node_modules/.bin/wrangler");
const child = spawn(wrangler, ["dev", "-c", "wrangler.toml", ...args], {
  cwd: root,
  stdio: "inherit",
});
for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
// A terminal sends Ctrl-C to wrangler too; this process waits for its end.
process.on("SIGINT", () => {});
child.once("exit", (code) => (process.exitCode = code ?? 1));
