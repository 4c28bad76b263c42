import { expect, it } from "vitest";
import CLIENT_MANIFEST from "../../client/package.json?raw";
import CLIENT_README from "../../client/README.md?raw";
import PYTHON_MANIFEST from "../../client-python/pyproject.toml?raw";
import PYTHON_README from "../../client-python/README.md?raw";
import API_PAGE from "../../docs/api.md?raw";
import CONFIGURATION_PAGE from "../../docs/configuration.md?raw";
import COST_PAGE from "../../docs/cost.md?raw";
import ERRORS_PAGE from "../../docs/errors.md?raw";
import WORKERD_CONFIG from "../../ops/workerd.capnp?raw";
import CLUSTER_CONFIG from "../../ops/workerd-cluster.capnp?raw";
import WRANGLER_CONFIG from "../../wrangler.toml?raw";
import README from "../../README.md?raw";
import openApi from "../../openapi.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { apiDoc } from "../../scripts/docs/api.ts";
import {
  clientManifest,
  clientReadmeDoc,
  pythonManifest,
} from "../../scripts/docs/client-package.ts";
import { configurationDoc } from "../../scripts/docs/configuration.ts";
import { costDoc } from "../../scripts/docs/cost.ts";
import { readmeDoc } from "../../scripts/docs/deploy-button.ts";
import { errorsDoc } from "../../scripts/docs/errors.ts";
import { fillRegions } from "../../scripts/docs/regions.ts";
import { workerdClusterConfig, workerdConfig } from "../../scripts/self-host/workerd-config.ts";

const DOCUMENTS = [
  [
    "docs/api.md",
    "the description of the API in openapi.json",
    API_PAGE,
    (page: string) => apiDoc(page, openApi),
  ],
  ["docs/errors.md", "the table of all problem codes", ERRORS_PAGE, errorsDoc],
  [
    "docs/configuration.md",
    "the descriptions of variables and bindings",
    CONFIGURATION_PAGE,
    configurationDoc,
  ],
  ["docs/cost.md", "the counts, prices and formulas of scripts/cost", COST_PAGE, costDoc],
  ["ops/workerd.capnp", "the names of all variables", WORKERD_CONFIG, workerdConfig],
  ["ops/workerd-cluster.capnp", "the names of all variables", CLUSTER_CONFIG, workerdClusterConfig],
  [
    "client/README.md",
    "the repository that package.json names",
    CLIENT_README,
    (page: string) => clientReadmeDoc(page, manifest),
  ],
  [
    "client/package.json",
    "the repository that package.json names",
    CLIENT_MANIFEST,
    (text: string) => clientManifest(text, manifest),
  ],
  [
    "client-python/README.md",
    "the repository that package.json names",
    PYTHON_README,
    (page: string) => clientReadmeDoc(page, manifest),
  ],
  [
    "client-python/pyproject.toml",
    "the version and the repository that package.json names",
    PYTHON_MANIFEST,
    (text: string) => pythonManifest(text, manifest),
  ],
] as const;

it.each(DOCUMENTS)(
  "%s is up to date: `npm run docs` would not change what it generates there from %s",
  (_path, _source, page, generate) => {
    expect(generate(page)).toBe(page);
  },
);

it("fillRegions replaces the text between a region's marks, keeps all other text, and throws for a region without marks or without text", () => {
  const page = "before\n<!-- generated: one -->\nold\n<!-- end of one -->\nafter\n";
  const filled = "before\n<!-- generated: one -->\n\nnew\n\n<!-- end of one -->\nafter\n";
  expect(fillRegions(page, { one: "new" })).toBe(filled);
  expect(() => fillRegions(page, { one: "new", two: "more" })).toThrow("lacks the region two");
  expect(() => fillRegions(page, {})).toThrow("the region one is unknown");
});

const BUTTON = "https://deploy.workers.cloudflare.com/?url=";

it.each([
  ["github:acme/task-relay", `${BUTTON}https://github.com/acme/task-relay)`],
  ["acme/task-relay", `${BUTTON}https://github.com/acme/task-relay)`],
  [{ url: "git+https://gitlab.com/acme/relay.git" }, `${BUTTON}https://gitlab.com/acme/relay)`],
  [undefined, "The deploy button stands here once `repository` in `package.json` names"],
  [
    "https://git.example.com/acme/relay",
    "The deploy button stands here once `repository` in `package.json` names",
  ],
])(
  "when package.json names the repository %j, the part of README.md about the deploy button is generated with the text: %s",
  (named, expected) => {
    expect(readmeDoc(README, { repository: named })).toContain(expected);
  },
);

it("when package.json names the repository github:acme/relay, npm run docs links it in the READMEs and the manifests of both clients", () => {
  const named = { repository: "github:acme/relay" };
  const url = "https://github.com/acme/relay";
  const readme = clientReadmeDoc(CLIENT_README, named);
  expect(readme).toContain(`[repository of the relay](${url})`);
  expect(readme).toContain(`([\`docs/errors.md\`](${url}/blob/HEAD/docs/errors.md), and`);
  expect(readme.match(/(?<!\[)`docs\/[\w-]+\.md`/g)).toBeNull();
  expect(clientReadmeDoc(readme, named)).toBe(readme);
  expect(clientReadmeDoc(readme, {})).toBe(CLIENT_README);
  const text = clientManifest(CLIENT_MANIFEST, named);
  const repository = { type: "git", url: `git+${url}.git`, directory: "client" };
  const homepage = `${url}/tree/HEAD/client#readme`;
  expect(JSON.parse(text)).toEqual({ ...JSON.parse(CLIENT_MANIFEST), homepage, repository });
  expect(clientManifest(text, named)).toBe(text);
  expect(clientManifest(text, {})).toBe(CLIENT_MANIFEST);
  const python = pythonManifest(PYTHON_MANIFEST, { ...named, version: "1.2.3" });
  expect(python).toContain(
    `version = "1.2.3"\nurls.Homepage = "${url}/tree/HEAD/client-python"\ndescription`,
  );
  expect(pythonManifest(python, manifest)).toBe(PYTHON_MANIFEST);
});

it("ops/workerd.capnp has the compatibility date and flags of wrangler.toml", () => {
  const [, date = ""] = /^compatibility_date = (".*")$/m.exec(WRANGLER_CONFIG) ?? [];
  const [, flags = ""] = /^compatibility_flags = (\[.*\])$/m.exec(WRANGLER_CONFIG) ?? [];
  expect(WORKERD_CONFIG).toContain(`compatibilityDate = ${date},`);
  expect(WORKERD_CONFIG).toContain(`compatibilityFlags = ${flags},`);
});
