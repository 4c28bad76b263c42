import { JURISDICTIONS, LOCATION_HINTS } from "../../src/config/placement.ts";
import {
  checked,
  checkedSelfHost,
  type ClusterOptions,
  type SelfHostOptions,
  type SetupOptions,
  WrongOption,
} from "./options.ts";

/** Function that asks the user one question on the terminal and returns the answer. */
export type Ask = (question: string) => Promise<string>;

/**
 * Asks for every setting that `npm run setup` can change, and says in each question what an empty answer keeps. A question
 * is asked again after a wrong answer.
 * @param present the options that the present settings fulfil.
 */
export async function askOptions(ask: Ask, present: SetupOptions): Promise<SetupOptions> {
  const text = (name: Text, question: string) =>
    askText(ask, name, { question, kept: present[name] ?? "none" });
  const yesOrNo = (question: string, kept: boolean | undefined) =>
    askYesOrNo(ask, question, kept ? "yes" : "no");
  const domain = await text("domain", "Host name of the relay, such as relay.example.com");
  const jurisdictions = JURISDICTIONS.join(", ");
  const jurisdiction = await text(
    "jurisdiction",
    `Keep all objects, with tasks and accounts, in one jurisdiction (${jurisdictions}); it cannot change later`,
  );
  const regions = LOCATION_HINTS.join(", ");
  const location = await text("location", `Create objects near one region (${regions})`);
  const isPaid = await askYesOrNo(
    ask,
    "Does the account have the Workers Paid plan, so that the CPU time of a request can be limited",
    keptPlan(present),
  );
  const index = await yesOrNo("Lists and statistics (the index, a D1 database)", present.index);
  const queue =
    (index ?? present.index) === false
      ? null
      : await yesOrNo("Write the index through a queue (from 15 tasks/s)", present.queue);
  const outputs = await yesOrNo(
    "Keep outputs, the files that tasks generate, in an R2 bucket",
    present.outputs,
  );
  const outputsDomain =
    (outputs ?? present.outputs) === true
      ? await text(
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

type Text = "domain" | "outputsDomain" | "jurisdiction" | "location";

/** Returns in words which answer about the plan the present settings are those of. */
function keptPlan({ isPaid }: SetupOptions): string {
  if (isPaid === undefined) return "no limit";
  return isPaid ? "yes" : "no";
}

async function askText(
  ask: Ask,
  name: Text,
  { question, kept }: { readonly question: string; readonly kept: string },
): Promise<SetupOptions> {
  const check = (answer: string) => checked({ [name]: answer });
  return (await askChecked(ask, `${question}. Enter keeps ${kept}`, check)) ?? {};
}

/** Asks until the answer is right. @returns what `check` returns for the answer; null for an empty answer. */
async function askChecked<T>(
  ask: Ask,
  question: string,
  check: (answer: string) => T,
): Promise<T | null> {
  let complaint = "";
  for (;;) {
    const answer = (await ask(`${complaint}${question}: `)).trim();
    if (answer === "") return null;
    try {
      return check(answer);
    } catch (error) {
      if (!(error instanceof WrongOption)) throw error;
      complaint = `${error.message}\n`;
    }
  }
}

const NO_CLUSTER = { storeUrl: undefined, region: undefined, address: undefined };

/** Asks for everything that `npm run setup -- --self-host` writes. A question is asked again after a wrong answer. */
export async function askSelfHost(ask: Ask): Promise<SelfHostOptions> {
  const domain = await askChecked(
    ask,
    "Host name of the relay, such as relay.example.com. Enter for none yet",
    (answer) => checkedSelfHost({ domain: answer }),
  );
  const bucket = await askChecked(
    ask,
    "Bucket that several machines share, such as s3://task-relay/cluster. Enter for a single machine",
    (answer) => checkedSelfHost({ cluster: { ...NO_CLUSTER, bucket: answer } }).cluster?.bucket,
  );
  if (bucket == null) return domain ?? {};
  return { ...domain, cluster: await askCluster(ask, bucket) };
}

/** Asks how the bucket of a cluster is reached. What is not answered is taken from the environment or from the file. */
async function askCluster(ask: Ask, bucket: string): Promise<ClusterOptions> {
  const text = async (question: string, name: "storeUrl" | "region" | "address") => {
    const check = (answer: string) => {
      checkedSelfHost({ cluster: { ...NO_CLUSTER, bucket, [name]: answer } });
      return answer;
    };
    return (await askChecked(ask, question, check)) ?? undefined;
  };
  const secret = async (question: string) => (await ask(`${question}: `)).trim() || undefined;
  const kept = "Enter keeps that of the environment or the file";
  const storeUrl = await text(
    `URL of the store, such as https://s3.example.com. ${kept}`,
    "storeUrl",
  );
  const region = await text(`Region of the bucket, such as us-east-1. ${kept}`, "region");
  const accessKey = await secret(`Access key id. ${kept}`);
  const secretKey = await secret(`Secret access key. ${kept}`);
  const address = await text(
    `Private address and port of this machine, such as 10.0.0.1:7000. ${kept}`,
    "address",
  );
  return {
    bucket,
    storeUrl,
    region,
    address,
    ...(accessKey !== undefined && { accessKey }),
    ...(secretKey !== undefined && { secretKey }),
  };
}

async function askYesOrNo(ask: Ask, question: string, kept: string): Promise<boolean | null> {
  for (;;) {
    const answer = (await ask(`${question}? y or n, Enter keeps ${kept}: `)).trim().toLowerCase();
    if (answer === "") return null;
    if (/^(y|yes|n|no)$/.test(answer)) return answer.startsWith("y");
  }
}
