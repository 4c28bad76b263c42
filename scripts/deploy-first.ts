// Deploys the relay and shows that it works: login, secrets, deployment, health, a test callback, console.
// Run by `npm run deploy:first`; running it again changes nothing that is right.
import { deployFirst } from "./deploy/deploy-first.ts";
import { optionsOf, USAGE } from "./deploy/options.ts";
import { Refusal } from "./deploy/refusal.ts";
import { lineOf } from "./doctor/finding.ts";
import { printHelp } from "./help.ts";
import { NoAnswer } from "./doctor/relay.ts";

const args = process.argv.slice(2);
const options = optionsOf(args);
if (printHelp(args, USAGE)) {
  process.exitCode = 0;
} else if (options === null) {
  console.error(USAGE);
  process.exitCode = 1;
} else {
  try {
    for await (const finding of deployFirst(options)) {
      console.log(lineOf(finding));
      if (finding.kind === "problem") process.exitCode = 1;
    }
  } catch (error) {
    if (error instanceof NoAnswer) {
      console.error(`The relay stopped answering: ${error.message}. Cure: run this command again`);
    } else if (error instanceof Refusal) console.error(error.message);
    else throw error;
    process.exitCode = 1;
  }
}
