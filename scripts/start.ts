// Starts the relay on this machine, with secrets where there are none. Run by `npm start`, whose arguments
// go to `wrangler dev`.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startClock } from "./dev/clock.ts";
import { requireFreePort } from "./dev/port.ts";
import { startArguments } from "./dev/start-arguments.ts";
import { isAnsweringSoon, keyLine, summaryOf } from "./dev/summary.ts";
import { startWrangler, type WranglerDev } from "./dev/wrangler-dev.ts";
import { writeSecrets } from "./secrets-files.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const devVars = existsSync(join(root, ".dev.vars")) ? read(".dev.vars") : "";
const files = { toml: read("wrangler.toml"), devVars };
const { args, address } = startArguments(process.argv.slice(2), files);
if (address !== null) {
  const cure = "stop what listens there, or add -- --port N --persist-to DIRECTORY";
  await requireFreePort(address.port, address.hosts, cure);
}
writeSecrets();
const relay = startWrangler(args, "inherit", null);
if (address?.origin.startsWith("http:") === true) void report(relay, address.origin);
else console.log(keyLine());
process.exitCode = await relay.ended;

/**
 * Prints the summary of the relay once it answers, and starts its clock; does nothing when it never answers, because
 * wrangler then prints the reason.
 */
async function report({ child }: WranglerDev, origin: string): Promise<void> {
  if (!(await isAnsweringSoon(child, origin))) return;
  startClock(origin);
  console.log(await summaryOf(origin).catch(keyLine));
}
