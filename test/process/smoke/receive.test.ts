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

/** Options, account of the task, outcomes of its attempts, answers and verdict that are printed. */
const CASES: readonly [string, string | null, string[], string[], RegExp][] = [
  ["--fail 2", null, ["500", "500", "204"], ["500", "500", "204"], /^valid$/],
  ["--fail 1 --hang", null, ["timeout", "204"], ["none", "204"], /^valid$/],
  ["--status 503", null, ["503", "503", "503"], ["503", "503", "503"], /^valid$/],
  ["--account acme", "acme", ["204"], ["204"], /^valid$/],
  ["", "acme", ["204"], ["204"], /^INVALID: .+ needs --account$/],
  ["--account nobody", null, ["204"], ["204"], /^not verified: .+\/nobody\/.+ answered 404$/],
  [`--secret ${WRONG}`, null, ["204"], ["204"], /^INVALID: No matching signature found$/],
];

it.each(CASES)(
  "the receiver of npm run receive with the options %j, for a task of the account %s, makes the callback attempts end with %j, and prints its answers and whether the signature is valid",
  async (options, account, outcomes, answers, verdict) => {
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
  ["--fail -1"],
  ["--status 99"],
  ["--status 500 --hang"],
  ["--port 0"],
  ["--secret x"],
  ["--relay x"],
  ["x"],
])("npm run receive with the wrong options %j prints its options in one line", async (options) => {
  const args = ["scripts/receive.ts", ...options.split(" ")];
  const { status, stdout, stderr } = spawnSync("node", args, { cwd: ROOT, encoding: "utf8" });
  expect({ status, stdout, lines: stderr.trimEnd().split("\n") }).toEqual({
    status: 1,
    stdout: "",
    lines: [expect.stringMatching(/^Usage: npm run receive -- /)],
  });
});
