// Asks a provider about one job and prints what the relay makes of the answer. Used as
// `npm run providers:check -- ark --job ID`.
import { parseArgs } from "node:util";
import { Attachment } from "../src/api/tasks/task-schemas.ts";
import { newsRulesOf } from "../src/config/news-rules.ts";
import type { PollAnswer } from "../src/core/events/event.ts";
import type { Job } from "../src/core/record/upstream.ts";
import { failure, type Result, success } from "../src/core/result.ts";
import { askProvider, pollAnswer, withFile } from "../src/outbound/ask-upstream.ts";
import type { Answered } from "../src/outbound/named-task.ts";
import { endpointFault } from "../src/providers/endpoint.ts";
import { isDeadlinePassed, POLL_TIMEOUT_MS, withDeadline } from "../src/lib/timeout.ts";
import { printHelp } from "./help.ts";
import { examinationLines, examinePoll } from "./providers-check/examination.ts";
import { reportLines } from "./providers-check/report.ts";
import { type Asking, readConnection } from "./providers-check/settings.ts";

const USAGE = `Usage: npm run providers:check -- ark --job ID [--endpoint PATH] [--secrets FILE]
Asks the provider once about a job and prints what the relay makes of the answer. The first argument is
the "provider" of a registration: a provider or a connection. Its key comes from .dev.vars or the FILE.`;

/** Exit statuses of the command, by what became of the question. */
const EXIT = {
  understood: 0,
  notUnderstood: 1,
  /** Nothing was asked: the options or the configuration are wrong. */
  notAsked: 2,
  keyRefused: 3,
  /** The provider cannot be reached, limits the rate or has a fault: a later question may get an answer. */
  notAnswered: 4,
};

const EXIT_OF: Readonly<Record<PollAnswer["kind"], number>> = {
  news: EXIT.understood,
  unclear: EXIT.notUnderstood,
  unauthorized: EXIT.keyRefused,
  limited: EXIT.notAnswered,
  deferred: EXIT.notAnswered,
  unanswered: EXIT.notAnswered,
};

interface Options {
  readonly name: string;
  readonly job: string;
  readonly endpoint: string | null;
  readonly secrets: string;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (printHelp(args, USAGE)) return EXIT.understood;
  const options = optionsOf(args);
  if (options === null) {
    console.error(USAGE);
    return EXIT.notAsked;
  }
  const asking = readConnection(options.name, options.secrets);
  const job = asking.ok ? jobOf(options, asking.value) : asking;
  if (asking.ok && job.ok) return ask(asking.value, job.value);
  if (!job.ok) console.error(job.error);
  return EXIT.notAsked;
}

/** Reads the options from the command line; null when they are wrong. */
function optionsOf(args: string[]): Options | null {
  try {
    const text = { type: "string" } as const;
    const options = { job: text, endpoint: text, secrets: { ...text, default: ".dev.vars" } };
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const [name, ...others] = positionals;
    if (name === undefined || others.length > 0 || values.job === undefined) return null;
    return { name, job: values.job, endpoint: values.endpoint ?? null, secrets: values.secrets };
  } catch {
    return null;
  }
}

/** Checks the job as the request does that attaches a job to a task. */
function jobOf({ name, job, endpoint }: Options, { provider }: Asking): Result<Job, string> {
  const body = Attachment.safeParse({ provider: name, id: job, endpoint });
  const [issue] = body.error?.issues ?? [];
  const ofEndpoint = issue === undefined ? endpointFault(provider, endpoint, true) : issue.message;
  if (ofEndpoint === null) return success({ id: job, endpoint });
  const option = issue?.path[0] === "id" ? "--job" : "--endpoint";
  return failure(`${option} ${ofEndpoint}.`);
}

async function ask(asking: Asking, job: Job): Promise<number> {
  const { connection, config } = asking;
  const answered = await answerOf(asking, job);
  if (typeof answered === "string") {
    console.error(`${connection.baseUrl} ${answered}.`);
    return EXIT.notAnswered;
  }
  const rules = newsRulesOf(config, connection);
  const answer = pollAnswer(answered.reading, answered.head, rules);
  console.log(reportLines(asking, answered, answer, rules.secrets).join("\n"));
  if (asking.declaration !== null) {
    const report = { ...answered.head, jobId: job.id, baseUrl: connection.baseUrl };
    const members = examinePoll(report, asking.declaration);
    console.log(examinationLines(members, rules.secrets).join("\n"));
  }
  return EXIT_OF[answer.kind];
}

/** Sends the requests of one poll; returns why there was no answer, as the rest of a sentence. */
async function answerOf(asking: Asking, job: Job): Promise<Answered | string> {
  const { connection, config, provider, key } = asking;
  const adapter = provider.polls;
  const stated = await withDeadline(POLL_TIMEOUT_MS, async (signal) => {
    const answered = await askProvider(job, connection, key, adapter, signal);
    if (answered !== null) return answered;
    return isDeadlinePassed(signal)
      ? `did not answer within ${POLL_TIMEOUT_MS / 1000} s`
      : "cannot be reached, or broke off its answer";
  });
  if (typeof stated === "string") return stated;
  const question = { connection, key, adapter, config, isInput: () => false };
  return (await withFile(stated, question)) ?? "did not answer at the path of the job's file";
}
