// Receives callbacks on this machine, prints and verifies them, and fails those attempts that the options
// select. Run by `npm run receive -- [--fail 2] [--hang] [--status 500] [--port 3000] [--secret whsec_…]
// [--account acme]`.
import { LOOPBACK, requireFreePort } from "./dev/port.ts";
import { printHelp } from "./help.ts";
import { optionsOf, USAGE } from "./receive/options.ts";
import { CallbackReceiver } from "./receive/receiver.ts";

const args = process.argv.slice(2);
if (!printHelp(args, USAGE)) await receive(args);

async function receive(given: string[]): Promise<void> {
  const read = optionsOf(given);
  if (!read.ok) {
    console.error(`${read.error}\n${USAGE}`);
    process.exitCode = 1;
    return;
  }
  const options = read.value;
  await requireFreePort(options.port, LOOPBACK, "stop what listens there, or add -- --port N");
  const receiver = new CallbackReceiver(options);
  for (const host of LOOPBACK) await receiver.listen(host);
  console.log(`Receiving at http://127.0.0.1:${options.port}/, ${receiver.plan}`);
}
