import { JURISDICTIONS, LOCATION_HINTS } from "../../src/config/placement.ts";
import { checked, type SetupOptions } from "./options.ts";

/** Function that asks one question on the terminal. */
export type Ask = (question: string) => Promise<string>;

/**
 * Asks for every setting that `npm run setup` can change; an empty answer keeps the setting. @throws
 * WrongOption
 */
export async function askOptions(ask: Ask): Promise<SetupOptions> {
  const domain = await text(ask, "Host name of the relay, such as relay.example.com");
  const jurisdiction = await text(
    ask,
    `Keep all data in one jurisdiction (${JURISDICTIONS.join(", ")}); it cannot change later`,
  );
  const location = await text(ask, `Create objects near one region (${LOCATION_HINTS.join(", ")})`);
  const isPaid = await yesOrNo(ask, "Does the account have the Workers Paid plan");
  const index = await yesOrNo(ask, "Lists and statistics (the index, a D1 database)");
  const queue =
    index === false
      ? null
      : await yesOrNo(ask, "Write the index through a queue (from 15 tasks/s)");
  return checked({
    ...(domain !== null && { domain }),
    ...(jurisdiction !== null && { jurisdiction }),
    ...(location !== null && { location }),
    ...(isPaid !== null && { isPaid }),
    ...(index !== null && { index }),
    ...(queue !== null && { queue }),
  });
}

async function text(ask: Ask, question: string): Promise<string | null> {
  const answer = (await ask(`${question}, Enter to keep: `)).trim();
  return answer === "" ? null : answer;
}

async function yesOrNo(ask: Ask, question: string): Promise<boolean | null> {
  for (;;) {
    const answer = (await ask(`${question}? y or n, Enter to keep: `)).trim().toLowerCase();
    if (answer === "") return null;
    if (/^(y|yes|n|no)$/.test(answer)) return answer.startsWith("y");
  }
}
