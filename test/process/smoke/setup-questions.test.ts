import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { edit, warnings } from "../../../scripts/setup/edit.ts";
import { optionsOf } from "../../../scripts/setup/options.ts";
import { askOptions } from "../../../scripts/setup/questions.ts";
import { ROOT } from "../harness/child.ts";

const SHIPPED = readFileSync(join(ROOT, "wrangler.toml"), "utf8");

/** Returns the shipped `wrangler.toml` as `npm run setup` edits it with these options. */
const setup = (...args: readonly string[]) => edit(SHIPPED, optionsOf(args));

it("npm run setup warns that the relay has no domain of its own until --domain sets one", () => {
  expect(warnings(SHIPPED).join()).toContain("No domain is set");
  expect(warnings(setup("--domain", "relay.example.com"))).toEqual([]);
});

it("npm run setup still warns that the relay has no domain when only the preview has a PUBLIC_URL", () => {
  const edited = SHIPPED.replace("[env.preview.vars]", '$&\nPUBLIC_URL = "https://p.example.com"');
  expect(warnings(edited).join()).toContain("No domain is set");
});

it.each([
  ["--jurisdiction eu", "JURISDICTION places only objects", "--jurisdiction eu,"],
  ["--location weur", "LOCATION_HINT places only objects", "--location weur,"],
])(
  "npm run setup %s warns that the option does not place the index database, unless wrangler.toml has its id or the index is off",
  (args, said, option) => {
    const given = ["--domain", "relay.example.com", ...args.split(" ")];
    const edited = setup(...given);
    expect(warnings(edited).join()).toContain(said);
    expect(warnings(edited).join()).toContain(`d1 create task-relay-index ${option}`);
    const named = '$&\ndatabase_id = "8e1b"';
    expect(warnings(edited.replace(/^binding = "INDEX_DB"$/m, named))).toEqual([]);
    expect(warnings(setup(...given, "--index", "off"))).toEqual([]);
  },
);

it("npm run setup asks for every option at a terminal, and an empty answer keeps what is configured", async () => {
  const asked: string[] = [];
  const answers = ["relay.example.com", "eu", "weur", "y", "yes", "n"];
  const options = await askOptions(async (question) => {
    asked.push(question);
    return answers[asked.length - 1] ?? "";
  });
  expect(options).toEqual({
    domain: "relay.example.com",
    jurisdiction: "eu",
    location: "weur",
    isPaid: true,
    index: true,
    queue: false,
  });
  expect(await askOptions(async () => "")).toEqual({});
});

it("npm run setup repeats a question after an invalid answer, and does not ask for a queue when the index is off", async () => {
  const answers = ["relay", "relay.example.com", "mars", "eu", "moon", "", "perhaps", "n", "no"];
  expect(await askOptions(async () => answers.shift() ?? "")).toEqual({
    domain: "relay.example.com",
    jurisdiction: "eu",
    isPaid: false,
    index: false,
  });
});
