import { describe, expect, it } from "vitest";
import PROVIDER_PAGE from "../../docs/providers.md?raw";
import README from "../../README.md?raw";
import { HOUR_MS } from "../../src/core/time.ts";
import { documentedLimits } from "../../src/providers/documented-limits.ts";
import { parseDeclaration } from "../../src/providers/generic/declaration.ts";
import type { NamedProvider, UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { sandbox } from "../../src/providers/sandbox/sandbox.ts";
import { DECLARATIONS, OWN_DECLARATIONS } from "./declarations.ts";
import type {
  HookExample,
  PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import { EXAMPLES, examplesIn } from "./examples.ts";

const providers = [...PROVIDERS.values()];

/** Returns the cells of the table under a heading row, without this row. */
function table(page: string, heading: string): readonly (readonly string[])[] {
  const [, rest] = page.split(`\n| ${heading} |`);
  if (rest === undefined) throw new Error(`no table with the heading ${heading}`);
  const rows = (rest.split("\n\n")[0] ?? "").trimEnd().split("\n").slice(2);
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Returns the texts between backticks. */
function codes(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

const rows = table(
  PROVIDER_PAGE,
  "provider | variables | its hooks are authenticated by | polling needs",
);

it("docs/providers.md lists every provider in the order of src/providers/registry.ts", () => {
  expect(rows.map(([name = ""]) => codes(name)[0])).toEqual(providers.map(({ name }) => name));
});

const limits = table(
  PROVIDER_PAGE,
  "provider | output links live | a job can be polled for | limit of polls",
);

it("docs/providers.md says of each provider how long links live (in bold below an hour), how long a job can be polled, and how often", () => {
  const facts = providers.map((provider) => {
    const { linkLife, jobLife, polls } = documentedLimits(provider);
    return [`\`${provider.name}\``, dying(provider) ? `**${linkLife}**` : linkLife, jobLife, polls];
  });
  // The cell may contain a remark after the fact.
  expect(limits.map((cells) => cells.map((cell) => cell.replace(/(;| \(|, as ).*/, "")))).toEqual(
    facts,
  );
});

const found = table(
  PROVIDER_PAGE,
  "provider | the end of a job is found | the time of the end is stated in",
);

it("docs/providers.md says for every provider how a job's end is found, and whether hooks and answers to polls state the time of the end", () => {
  const facts = providers.map((provider) => {
    const examples = EXAMPLES.filter((one) => one.provider === provider.name);
    const hasTime = {
      hook: examples.some(({ hooks }) => examplesIn(hooks).some(isTimed)),
      poll: examples.some(({ polls }) => examplesIn(polls).some(isTimed)),
    };
    const timed = Object.entries(hasTime).flatMap(([source, has]) => (has ? [source] : []));
    return [`\`${provider.name}\``, findingOf(provider), timed.join(", ") || "nothing"];
  });
  expect(found).toEqual(facts);
});

const used = table(PROVIDER_PAGE, "provider | `usage` has | which is | stated in");

it("docs/providers.md says for every provider which numbers of a job's usage its hooks and its answers to polls state", () => {
  const facts = providers.map(({ name, usageNames: declared = [] }) => {
    const examples = EXAMPLES.filter(({ provider }) => provider === name);
    const hooks = examples.flatMap((one) => examplesIn(one.hooks).flatMap(usageNames));
    const polls = examples.flatMap((one) => examplesIn(one.polls).flatMap(usageNames));
    const sources = Object.entries({ hook: hooks, poll: polls });
    const stating = sources.flatMap(([source, { length }]) => (length > 0 ? [source] : []));
    const names = [...new Set([...hooks, ...polls])].toSorted();
    expect(declared.toSorted(), `${name}: the names by which a price may be stated`).toEqual(names);
    return [[name], names, stating.join(", ")];
  });
  const stated = used.map(([name = "", names = "", , sources = ""]) => [
    codes(name),
    codes(names).toSorted(),
    sources,
  ]);
  expect(stated).toEqual(facts);
});

const sources = table(PROVIDER_PAGE, "provider | read | not read again");

it("docs/providers.md names for every provider the pages that its facts are from, and when they were read", () => {
  expect(sources.map(([name = ""]) => codes(name))).toEqual(providers.map(({ name }) => [name]));
  for (const [, read = "", older = ""] of sources) {
    expect(read).toMatch(/, 20\d\d-\d\d-\d\d$/);
    expect(`${read} ${older}`).toContain("](https://");
  }
});

describe.each(
  providers.map((provider, i) => ({ name: provider.name, provider, row: rows[i] ?? [] })),
)("docs/providers.md for $name", ({ provider, row }) => {
  const [, variables = "", authentication = "", polling = ""] = row;
  const { hooks, polls } = provider;
  const hosts = [...(provider.baseUrls ?? []), provider.hostsOfCustomers?.form];

  it(`docs/providers.md names the configuration variables of ${provider.name}`, () => {
    const { key, webhookSecret, userId, baseUrl } = provider.variables;
    const named = [key, webhookSecret, userId, baseUrl].filter((name) => name !== undefined);
    expect(codes(variables)).toEqual(named);
  });

  it(`docs/providers.md says how hooks of ${provider.name} are authenticated`, () => {
    expect(authentication).toMatch(wordingOf(provider));
    const secret = provider.variables.webhookSecret;
    if (secret !== undefined) expect(codes(authentication)).toEqual([secret]);
  });

  it(`docs/providers.md says whether polling ${provider.name} needs the endpoint of the submit call`, () => {
    expect(polling.includes("endpoint")).toBe(polls.endpoint !== null);
  });

  it(`docs/providers.md shows how to submit a job to ${provider.name} and how to attach the job to a task`, () => {
    const [, section = ""] = PROVIDER_PAGE.split(`\n## ${provider.name}\n`);
    const [text = ""] = section.split("\n## ");
    const parameter = hooks?.parameter ?? null;
    if (parameter === null) expect(text).not.toContain("HOOK_URL");
    else if (parameter.startsWith("?")) expect(text).toContain(`${parameter.slice(1)}=$HOOK_URL`);
    else expect(text).toContain(shownField(parameter));
    expect(text.includes("\"'$ID'\"")).toBe(hooks?.idParameter != null);
    if (hooks?.idParameter != null) expect(text).toContain(`"${hooks.idParameter}": "'$ID'"`);
    expect(text).toContain(`"provider": "${provider.name}"`);
    for (const url of codes(text).filter((code) => code.startsWith("https://")))
      expect(hosts).toContain(url);
  });
});

it("docs/providers.md shows one call for exactly the providers to which the relay can submit jobs, at a path that starts a job", () => {
  const calls = [...PROVIDER_PAGE.matchAll(/^curl \$relay\/v1\/submit\/([\w-]+)(\/\S+)/gm)];
  const known = calls.filter(([, name = ""]) => !Object.hasOwn(OWN_DECLARATIONS, name));
  const starting = known.flatMap(([, name = "", path = ""]) => {
    const target = PROVIDERS.get(name)?.submits?.target(path) ?? null;
    return target === null ? [] : [name];
  });
  expect(known.map(([, name]) => name)).toEqual(starting);
  const submittable = providers.filter(({ submits }) => submits !== undefined);
  expect(starting).toEqual(submittable.map(({ name }) => name));
});

it("docs/providers.md names the providers to which the relay can submit jobs", () => {
  const submittable = providers.flatMap(({ name, submits }) =>
    submits === undefined ? [] : [name],
  );
  const [, shown = ""] =
    /\*\*\[One call\]\(#one-call\)\*\*.* For (.*)\.$/m.exec(PROVIDER_PAGE) ?? [];
  expect(codes(shown)).toEqual([...submittable, "sandbox"]);
});

it("docs/providers.md names every model of the sandbox, which is a simulated provider", () => {
  const started = sandbox.simulation.start("");
  const models = started.ok ? [] : (started.error.match(/sandbox\/[\w-]+/g) ?? []);
  expect(models.length).toBeGreaterThan(0);
  for (const model of models) expect(PROVIDER_PAGE).toContain(`\`${model}\``);
});

it("docs/providers.md prints the declarations with which the tests run, ready to paste", () => {
  const [, section = ""] = PROVIDER_PAGE.split("\n## generic\n");
  const [text = ""] = section.split("\n## ");
  const blocks = [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) => json);
  const printed = blocks.map((json): unknown => JSON.parse(json));
  expect(printed).toEqual(
    Object.entries({ ...DECLARATIONS, ...OWN_DECLARATIONS }).map((entry) =>
      Object.fromEntries([entry]),
    ),
  );
  for (const each of Object.values(OWN_DECLARATIONS)) {
    expect(parseDeclaration(each)).toMatchObject({ ok: true });
  }
});

it("docs/providers.md describes every member of a declaration", () => {
  const [, section = ""] = PROVIDER_PAGE.split("\n## generic\n");
  const text = (section.split("\n## ")[0] ?? "").replaceAll(/^```.*?^```$/gms, "");
  const known = codes(text).flatMap((code) => [code, ...(code.match(/\w+(?=":)/g) ?? [])]);
  const described = known.flatMap((code) => [code, code.split(".").at(-1)]);
  const refused = [{}, { poll: { a: 1 } }, { hook: { a: 1 } }, { cancel: { a: 1 } }].map((part) =>
    parseDeclaration({ provider: "generic", a: 1, ...part }),
  );
  const names = refused.flatMap((result) =>
    result.ok
      ? []
      : result.error.flatMap(({ message }) =>
          (/^is not known: known members are (.*)$/.exec(message)?.[1] ?? "").split(", "),
        ),
  );
  const expected = names.filter((name) => !["", "provider", "path", "poll"].includes(name));
  expect(expected.length).toBeGreaterThan(30);
  expect(expected.filter((name) => !described.includes(name))).toEqual([]);
});

it("README.md names every provider, in the order of src/providers/registry.ts", () => {
  const [, rest = ""] = README.split(" Built in: ");
  const [sentence = ""] = rest.split(". [");
  expect(codes(sentence)).toEqual(providers.map(({ name }) => name));
});

/** Returns how the page must show the hook URL in a field of the body, in the notation of adapters (`a.b`, `a.b[]`). */
function shownField(parameter: string): string {
  const name = parameter.split(".").at(-1) ?? "";
  const value = `"'$HOOK_URL'"`;
  return name.endsWith("[]") ? `"${name.slice(0, -2)}": [${value}]` : `"${name}": ${value}`;
}

/** Tells whether the links of a provider can expire within an hour, before a client has opened them. */
function dying({ linkLife }: UpstreamProvider): boolean {
  return linkLife !== null && linkLife !== "stated" && linkLife.minMs < HOUR_MS;
}

function isTimed({ means }: HookExample | PollExample): boolean {
  return typeof means === "object" && means?.status === "completed" && means.completedAt !== null;
}

/** Returns the names of the numbers that an example states as the usage of its job. */
function usageNames({ means }: HookExample | PollExample): readonly string[] {
  return typeof means === "object" && means !== null && "usage" in means
    ? Object.keys(means.usage ?? {})
    : [];
}

/** Returns the words with which the table must describe how the end of a job is found. */
function findingOf({ hooks, variables }: NamedProvider): string {
  if (hooks === null) return "by polls alone";
  const setting = variables.webhookSecret ?? variables.userId;
  if (hooks.isOptional === true && setting === undefined)
    return "by polls, or earlier by the poll that a hook causes";
  return hooks.assurance === "body-signed"
    ? `by its hook, with \`${setting}\``
    : "by the poll that its hook causes";
}

/** Returns the words with which the table must describe an assurance. */
function wordingOf({ hooks, jwksUrl }: UpstreamProvider): RegExp {
  switch (hooks?.assurance) {
    case undefined:
      return /^it sends none$/;
    case "capability-url":
      return /^nothing$/;
    case "request-signed":
      return jwksUrl === undefined
        ? /^signature .*, not over the body$/
        : /^signature over the body .*, which all its customers share$/;
    case "body-signed":
      return /^signature over the body, with /;
  }
}
