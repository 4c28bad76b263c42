// Deploys the relay and shows that it works: login, secrets, deployment, health, a test callback, console.
// Run by `npm run deploy:first`; running it again changes nothing that is right.
import { deployFirst } from "./deploy/deploy-first.ts";
import { optionsOf, USAGE } from "./deploy/options.ts";
import { Refusal } from "./deploy/refusal.ts";
import { lineOf } from "./doctor/finding.ts";

const options = optionsOf(process.argv.slice(2));
if (options === null) {
  console.error(USAGE);
  process.exitCode = 1;
} else {
  try {
    for await (const finding of deployFirst(options)) {
      console.log(lineOf(finding));
      if (finding.kind === "problem") process.exitCode = 1;
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
