import { JURISDICTIONS, LOCATION_HINTS } from "../../src/config/placement.ts";
import { checked, type SetupOptions, WrongOption } from "./options.ts";

/** Function that asks the user one question on the terminal and returns the answer. */
export type Ask = (question: string) => Promise<string>;

/**
 * Asks for every setting that `npm run setup` can change; an empty answer keeps the setting, and a question
 * is asked again after a wrong answer.
 */
export async function askOptions(ask: Ask): Promise<SetupOptions> {
  const domain = await text(ask, "domain", "Host name of the relay, such as relay.example.com");
  const jurisdictions = JURISDICTIONS.join(", ");
  const jurisdiction = await text(
    ask,
    "jurisdiction",
    `Keep all objects, with tasks and accounts, in one jurisdiction (${jurisdictions}); it cannot change later`,
  );
  const regions = LOCATION_HINTS.join(", ");
  const location = await text(ask, "location", `Create objects near one region (${regions})`);
  const isPaid = await yesOrNo(ask, "Does the account have the Workers Paid plan");
  const index = await yesOrNo(ask, "Lists and statistics (the index, a D1 database)");
  const queue =
    index === false
      ? null
      : await yesOrNo(ask, "Write the index through a queue (from 15 tasks/s)");
  const outputs = await yesOrNo(
    ask,
    "Keep outputs, the files that tasks generate, in an R2 bucket",
  );
  const outputsDomain =
    outputs === true
      ? await text(
          ask,
          "outputsDomain",
          "Host name of the links to outputs, such as outputs.example.net",
        )
      : {};
  return {
    ...domain,
    ...outputsDomain,
    ...jurisdiction,
    ...location,
    ...(isPaid !== null && { isPaid }),
    ...(index !== null && { index }),
    ...(queue !== null && { queue }),
    ...(outputs !== null && { outputs }),
  };
}

async function text(
  ask: Ask,
  name: "domain" | "outputsDomain" | "jurisdiction" | "location",
  question: string,
): Promise<SetupOptions> {
  let complaint = "";
  for (;;) {
    const answer = (await ask(`${complaint}${question}, Enter to keep: `)).trim();
    if (answer === "") return {};
    try {
      return checked({ [name]: answer });
    } catch (error) {
      if (!(error instanceof WrongOption)) throw error;
      complaint = `${error.message}\n`;
    }
  }
}

async function yesOrNo(ask: Ask, question: string): Promise<boolean | null> {
  for (;;) {
    const answer = (await ask(`${question}? y or n, Enter to keep: `)).trim().toLowerCase();
    if (answer === "") return null;
    if (/^(y|yes|n|no)$/.test(answer)) return answer.startsWith("y");
  }
}
