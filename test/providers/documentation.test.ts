import { describe, expect, it } from "vitest";
import README from "../../README.md?raw";
import PROVIDERS_PAGE from "../../docs/providers.md?raw";
import { PROVIDER_PAGES, providersDoc } from "../../scripts/docs/providers.ts";
import { parseDeclaration } from "../../src/providers/generic/declaration.ts";
import { phaseIn, progressIn, type Observation } from "../../src/providers/observation.ts";
import type { NamedProvider, UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { sandbox } from "../../src/providers/sandbox/sandbox.ts";
import type {
  HookExample,
  PollExample,
} from "../../src/providers/shared/examples/report-examples.ts";
import { declared } from "./adapters.ts";
import { DECLARATIONS, OWN_DECLARATIONS } from "./declarations.ts";
import { EXAMPLES, examplesIn, submitExamplesIn } from "./examples.ts";
import { corpusPageOf, PAGES, pageOf, titleOf } from "./pages.ts";
import { readHook, readPoll } from "./readings.ts";

const providers = [...PROVIDERS.values()];

/** Returns the value of a row in the table of facts of a page, by the row's name without its link. */
function factOf(page: string, name: string): string {
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((row) => row.slice(2, -2).split(" | "));
  const named = cells.find(
    ([first = ""]) => first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1") === name,
  );
  if (named?.[1] === undefined) throw new Error(`no row ${name}`);
  return named[1];
}

/** Returns the texts between backticks. */
function codes(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

it("the table of all providers in docs/providers.md is the one that npm run docs makes from their adapters and the titles of their pages", () => {
  expect(providersDoc(PROVIDERS_PAGE, titleOf)).toBe(PROVIDERS_PAGE);
});

it("each provider, the sandbox and each upstream with a declaration in the documentation has a folder with a page", () => {
  const declarations = Object.keys({ ...DECLARATIONS, ...OWN_DECLARATIONS });
  const names = [...providers.map(({ name }) => name), "sandbox", "generic", ...declarations];
  expect([...PAGES.keys()].toSorted()).toEqual(names.toSorted());
});

describe.each(providers.map((provider) => ({ name: provider.name, provider })))(
  "src/providers/$name/README.md",
  ({ name, provider }) => {
    const page = pageOf(name);
    const { hooks, polls } = provider;
    const examples = EXAMPLES.filter((one) => one.provider === name);
    const hookExamples = examples.flatMap((one) => examplesIn(one.hooks));
    const pollExamples = examples.flatMap((one) => examplesIn(one.polls));
    const answerExamples = examples.flatMap(({ submits }) =>
      submits === undefined ? [] : submitExamplesIn(submits),
    );
    const observed = [
      ...hookExamples.map((example) => readHook(provider, example)),
      ...pollExamples.map((example) => observationIn(provider, example)),
    ].filter((observation) => observation !== null);

    it(`the documentation page of ${name} describes the provider before its only example of a call, whose path starts a job`, () => {
      const [, intro = "", code = ""] =
        /^# .+\n\n(.+)\n\n(?:```sh account\n([^]*?)```)?/.exec(page) ?? [];
      expect(intro).toContain("](https://");
      const [, connection, path = ""] =
        /^curl \$relay\/v1\/submit\/([\w-]+)(\/\S+)/.exec(code) ?? [];
      expect(connection).toBe(provider.submits === undefined ? undefined : name);
      if (provider.submits !== undefined) expect(provider.submits.target(path)).not.toBeNull();
    });

    it(`the documentation page of ${name} has the table that npm run docs makes of its adapter: variables, how the end of a job is found, how long links and jobs live (in bold below an hour), limits of polls`, () => {
      expect(PROVIDER_PAGES.get(`src/providers/${name}/README.md`)?.(page)).toBe(page);
    });

    it(`the documentation page of ${name} says how the relay knows that a hook is really from the provider`, () => {
      const text = factOf(page, "hooks proved by");
      expect(text).toMatch(wordingOf(provider));
      const secret = provider.variables.webhookSecret;
      if (secret !== undefined) expect(codes(text)).toEqual([secret]);
    });

    it(`the documentation page of ${name} says whether polls need the endpoint of the submit call`, () => {
      expect(factOf(page, "polling needs").includes("endpoint")).toBe(polls.endpoint !== null);
    });

    it(`the documentation page of ${name} lists each word for a state that occurs in its example hooks and example answers to polls`, () => {
      const words = observed.flatMap((observation) => {
        const phase = phaseIn(observation);
        return phase === null || observation.state === null
          ? []
          : [`${phase}: ${observation.state}`];
      });
      const stated = factOf(page, "states")
        .split("; ")
        .flatMap((group) => codes(group).map((word) => `${group.split(":")[0]}: ${word}`));
      expect(stated.toSorted()).toEqual([...new Set(words)].toSorted());
    });

    it(`the documentation page of ${name} says whether hooks and answers to polls state the time at which a job ended`, () => {
      expect(factOf(page, "time of the end in")).toBe(
        sourcesOf(hookExamples.some(isTimed), pollExamples.some(isTimed)) || "nothing",
      );
    });

    it(`the documentation page of ${name} says which numbers of a job's usage its hooks, its answers to polls and its answers to calls state`, () => {
      const [hooked, polled] = [hookExamples.flatMap(usageNames), pollExamples.flatMap(usageNames)];
      const answered = answerExamples.flatMap(({ means }) =>
        typeof means === "object" && "result" in means ? usageNames({ means: means.result }) : [],
      );
      const names = [...new Set([...hooked, ...polled, ...answered])].toSorted();
      const { usageNames: known = [] } = provider;
      expect(known.toSorted(), "the names by which a price may be stated").toEqual(names);
      const [, stated = "", , sources = ""] =
        /^((?:`\w+`(?:, )?)+): (.+); stated in ([\w, ]+)$/.exec(factOf(page, "`usage`")) ?? [];
      expect(codes(stated).toSorted()).toEqual(names);
      expect(sources).toBe(sourcesOf(hooked.length > 0, polled.length > 0, answered.length > 0));
    });

    it(`the documentation page of ${name} says whether hooks or answers to polls state the progress of a job`, () => {
      const isStated = observed.some((observation) => "progress" in progressIn(observation));
      expect(factOf(page, "progress")).toMatch(isStated ? /^stated/ : /^not stated/);
    });

    it(`the documentation page of ${name} says which call cancels a job, or that none is documented`, () => {
      const text = factOf(page, "canceled by");
      const [canceling] = examples.flatMap(({ cancels }) => cancels ?? []);
      if (canceling === undefined) expect(text).toMatch(/^no call that stops a job is documented/);
      else {
        const { job, request } = canceling;
        const [method, path = ""] = codes(text)[0]?.split(" ") ?? [];
        expect(method).toBe(request.method);
        expect(request.path.replace(job.id, "{id}").endsWith(path.replace("…", ""))).toBe(true);
        expect(path).toContain("{id}");
      }
    });

    it(`the documentation page of ${name} shows how to submit a job and how to attach it to a task, with the provider's own hosts`, () => {
      const parameter = hooks?.parameter ?? null;
      if (parameter === null) expect(page).not.toContain("HOOK_URL");
      else if (parameter.startsWith("?")) expect(page).toContain(`${parameter.slice(1)}=$HOOK_URL`);
      else expect(page).toContain(shownField(parameter));
      expect(page.includes("\"'$ID'\"")).toBe(hooks?.idParameter != null);
      if (hooks?.idParameter != null) expect(page).toContain(`"${hooks.idParameter}": "'$ID'"`);
      expect(page).toContain(`"provider": "${name}"`);
      const hosts = [...(provider.baseUrls ?? []), provider.hostsOfCustomers?.form];
      for (const url of codes(page).filter((code) => code.startsWith("https://")))
        expect(hosts).toContain(url);
    });

    it(`the documentation page of ${name} links to the page of its corpus, which names the pages that the facts are from, and when they were read`, () => {
      expect(page).toContain("](corpus/README.md)");
      const [, sources = ""] = corpusPageOf(name).split("\n## Sources\n");
      expect(sources).toMatch(/^\nRead on 20\d\d-\d\d-\d\d: ./);
      expect(sources).toContain("](https://");
    });
  },
);

it("the page of the sandbox, which is a simulated provider, names every model", () => {
  const { start, submitPaths } = sandbox.simulation;
  const models = submitPaths.flatMap((path) => {
    const started = start("", path);
    return started.ok ? [] : (started.error.match(/sandbox\/[\w-]+/g) ?? []);
  });
  expect(models.length).toBeGreaterThan(submitPaths.length);
  for (const model of models) expect(pageOf("sandbox")).toContain(`\`${model}\``);
});

it.each(Object.entries({ ...DECLARATIONS, ...OWN_DECLARATIONS }))(
  "the page of the upstream %s shows a valid declaration of the upstream, ready to paste, and a call to a path that starts a job",
  (name, declaration) => {
    const page = pageOf(name);
    const [, json = ""] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
    expect(JSON.parse(json)).toEqual({ [name]: declaration });
    const [, connection, path = ""] =
      /^curl \$relay\/v1\/submit\/([\w-]+)(\/\S+)/m.exec(page) ?? [];
    expect(connection).toBe(name);
    expect(declared(name, declaration).submits?.target(path) ?? null).not.toBeNull();
    expect(pageOf("generic")).toContain(`(upstreams/${name}/README.md)`);
  },
);

it("src/providers/generic/README.md describes every member of the declaration of an upstream", () => {
  const text = pageOf("generic").replaceAll(/^```.*?^```$/gms, "");
  const known = codes(text).flatMap((code) => [code, ...(code.match(/\w+(?=":)/g) ?? [])]);
  const described = known.flatMap((code) => [code, code.split(".").at(-1)]);
  const parts = [
    { submit: { a: 1 } },
    { submit: { answer: "result", a: 1 } },
    { poll: { a: 1 } },
    { hook: { a: 1 } },
    { cancel: { a: 1 } },
  ];
  const refused = parts.map((part) => parseDeclaration({ provider: "generic", a: 1, ...part }));
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

/** Returns what an adapter observes in an example poll. Null when the last answer is no report. */
function observationIn(provider: UpstreamProvider, example: PollExample): Observation | null {
  const reading = readPoll(provider, example);
  return reading?.kind === "observed" ? reading.observation : null;
}

/** Returns the words with which a page says where something is stated. */
function sourcesOf(isInHooks: boolean, isInPolls: boolean, isInAnswers = false): string {
  return [
    ...(isInHooks ? ["hook"] : []),
    ...(isInPolls ? ["poll"] : []),
    ...(isInAnswers ? ["answer"] : []),
  ].join(", ");
}

/** Returns how the page must show the hook URL in a field of the body, in the notation of adapters (`a.b`, `a.b[]`). */
function shownField(parameter: string): string {
  const name = parameter.split(".").at(-1) ?? "";
  const value = `"'$HOOK_URL'"`;
  return name.endsWith("[]") ? `"${name.slice(0, -2)}": [${value}]` : `"${name}": ${value}`;
}

function isTimed({ means }: HookExample | PollExample): boolean {
  return typeof means === "object" && means?.status === "completed" && means.completedAt !== null;
}

/** Returns the names of the numbers that an example states as the usage of its job. */
function usageNames({ means }: Pick<HookExample | PollExample, "means">): readonly string[] {
  return typeof means === "object" && means !== null && "usage" in means
    ? Object.keys(means.usage ?? {})
    : [];
}

/** Returns the words with which the page must describe an assurance. */
function wordingOf({ hooks, jwksUrl }: NamedProvider): RegExp {
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
