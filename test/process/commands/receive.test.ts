import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { Child, ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { freePort } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";

const vars = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,0,0", CALLBACK_TIMEOUT_S: "1" };
const relay = await forThisFile(Workerd.start({ vars }));
const { client } = relay;
await client.ask("POST", "/v1/accounts", { id: "acme" });
const WRONG = `whsec_${"A".repeat(32)}`;

/** Case in words, outcomes of the attempts, verdict in words, options, account of the task, answers, printed verdict. */
const CASES: readonly [string, string[], string, string, string | null, string[], RegExp][] = [
  [
    "the option --fail 2",
    ["500", "500", "204"],
    "valid",
    "--fail 2",
    null,
    ["500", "500", "204"],
    /^valid$/,
  ],
  [
    "the options --fail 1 --hang",
    ["timeout", "204"],
    "valid",
    "--fail 1 --hang",
    null,
    ["none", "204"],
    /^valid$/,
  ],
  [
    "the option --status 503",
    ["503", "503", "503"],
    "valid",
    "--status 503",
    null,
    ["503", "503", "503"],
    /^valid$/,
  ],
  [
    "the account of the task as --account",
    ["204"],
    "valid",
    "--account acme",
    "acme",
    ["204"],
    /^valid$/,
  ],
  [
    "no --account, for a task of an account,",
    ["204"],
    "invalid",
    "",
    "acme",
    ["204"],
    /^INVALID: .+ needs --account$/,
  ],
  [
    "an unknown account as --account",
    ["204"],
    "not verified",
    "--account nobody",
    null,
    ["204"],
    /^not verified: .+\/nobody\/.+ answered 404$/,
  ],
  [
    "a wrong --secret",
    ["204"],
    "invalid",
    `--secret ${WRONG}`,
    null,
    ["204"],
    /^INVALID: No matching signature found$/,
  ],
];

it.each(CASES)(
  "npm run receive with %s gives the attempts of a callback the outcomes %j, and prints its own answers and that the signature is %s",
  async (_case, outcomes, _verdict, options, account, answers, verdict) => {
    const port = await freePort();
    const given = options.split(" ").filter((word) => word !== "");
    const args = ["scripts/receive.ts", "--port", String(port), "--relay", relay.url, ...given];
    const receiver = new Child(process.execPath, args, { ...process.env, OPERATOR_KEY });
    const url = `http://localhost:${port}/done`;
    try {
      await receiver.answering(url);
      const id = randomUUID();
      await client.ask("POST", "/v1/tasks", { id, model: "m", account, callback_url: url });
      await client.finish(url, id);
      const { callback } = await client.settled(id);
      const attempts = callback?.attempts ?? [];
      expect(attempts.map((each) => String(each.status_code ?? each.outcome))).toEqual(outcomes);

      const printed = (label: string) =>
        [...receiver.output.matchAll(new RegExp(`^ +${label}: +(.+)$`, "gm"))].map(
          (line) => line[1],
        );
      expect(printed("answer")).toEqual(answers);
      const numbers = answers.map((_, i) => `POST /done  attempt ${i + 1} of msg_${id}`);
      expect(receiver.output.match(/^POST .+$/gm)).toEqual(numbers);
      expect(printed("signature")).toEqual(answers.map(() => expect.stringMatching(verdict)));
      expect(printed("body")).toEqual(answers.map(() => expect.stringContaining(`{"id":"${id}"`)));
    } finally {
      await receiver.kill9();
    }
  },
);

it.each([
  ["--fail -1", /^Option '--fail' argument is ambiguous\.$/],
  ["--fail x", /^--fail must be a number of attempts\.$/],
  ["--fial 2", /^Unknown option '--fial'\.$/],
  ["--status 99", /^--status must be from 200 to 599\.$/],
  ["--status 500 --hang", /^--hang and --status exclude each other\.$/],
  ["--port 0", /^--port must be a port\.$/],
  ["--secret x", /^--secret must be whsec_ /],
  ["--account acme --secret whsec_AAAA", /^--secret and --account exclude each other\.$/],
  ["--relay x", /^--relay must be an http or https URL\.$/],
  ["x", /^Unexpected argument 'x'\.$/],
])(
  "for the wrong options %j, npm run receive prints one line that names the wrong option and one that lists the existing options",
  async (options, sentence) => {
    const args = ["scripts/receive.ts", ...options.split(" ")];
    const { status, stdout, stderr } = spawnSync("node", args, { cwd: ROOT, encoding: "utf8" });
    expect({ status, stdout, lines: stderr.trimEnd().split("\n") }).toEqual({
      status: 1,
      stdout: "",
      lines: [
        expect.stringMatching(sentence),
        expect.stringMatching(/^Usage: npm run receive -- /),
      ],
    });
  },
);
