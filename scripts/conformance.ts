// Tests a callback receiver with genuine and forged requests. Run by
// `npm run conformance -- --to URL --secret whsec_…`.
import { targetOf, USAGE, WrongOption } from "./conformance/options.ts";
import { runConformance } from "./conformance/run.ts";
import { Unreachable } from "./conformance/send.ts";
import { printHelp } from "./help.ts";

const args = process.argv.slice(2);

try {
  if (!printHelp(args, USAGE)) {
    const isRight = await runConformance(await targetOf(args), (line) => console.log(line));
    process.exitCode = isRight ? 0 : 1;
  }
} catch (error) {
  if (error instanceof WrongOption) console.error(error.message);
  else if (error instanceof Unreachable)
    console.error(`No receiver answers at --to: ${error.message}.`);
  else throw error;
  process.exitCode = 2;
}
