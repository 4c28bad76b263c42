import { defineConfig, type OxlintOverride } from "oxlint";

/** Rows of files and folders, of which each row imports only the rows before it. */
type Layers = readonly (readonly string[])[];

/** Layers of `src`. What stands in no row imports nothing of any row. */
const LAYERS: Layers = [
  ["core"],
  ["lib"],
  ["security"],
  ["providers"],
  ["config"],
  ["outbound"],
  ["index-db"],
  ["objects"],
  ["env.ts"],
  ["api"],
  ["console", "cron"],
  ["app.ts", "startup.ts"],
  ["rehearsal.ts", "service-binding.ts"],
  ["index.ts"],
];

/** Layers of `src/core`, above its single files. */
const CORE_LAYERS: Layers = [
  ["output-metadata"],
  ["record"],
  ["offers"],
  ["plans"],
  ["polls"],
  ["events", "views"],
  ["duties"],
  ["transition.ts", "step.ts"],
];

/** What only one other file of `src` imports. */
const ONLY_IMPORTED_BY: Readonly<Record<string, string>> = {
  console: "app.ts",
  cron: "index.ts",
};

/** The layer that handles requests with hono. The layers before it know no HTTP framework. */
const FIRST_WITH_HONO = "api";

const PLAIN_ZOD = { name: "zod", message: "src uses zod/mini, which keeps the bundle small." };

/** The SDK of MCP and the file with what the relay uses of it, which one file each may import. */
const LAZY = [
  {
    reader: "src/api/mcp/mcp-sdk.ts",
    group: ["@modelcontextprotocol/*"],
    message: "Only src/api/mcp/mcp-sdk.ts imports the SDK of MCP, which takes long to evaluate.",
  },
  {
    reader: "src/api/mcp/load-mcp-sdk.ts",
    group: ["**/mcp-sdk.ts"],
    message: "Call loadMcpSdk, which evaluates the SDK of MCP where it is needed.",
  },
];

/** Examples of what upstreams send, which tests read, and the files that may import them: the examples themselves. */
const EXAMPLES = {
  readers: ["src/providers/**/*.examples.ts", "src/providers/shared/examples/**"],
  group: ["**/*.examples.ts", "**/shared/examples/**", "**/corpus/**"],
  message: "Only tests import examples and corpora: the Worker must not contain them.",
};

const SIGNAL_TIMEOUT = {
  object: "AbortSignal",
  property: "timeout",
  message:
    "It pins the object in memory, billed, until it fires: AbortController + setTimeout, cleared in finally.",
};

const NAMESPACES = ["getByName", "idFromName", "idFromString", "newUniqueId"].map((property) => ({
  property,
  message:
    "Only src/objects/placed-object.ts asks a namespace for an object, because the jurisdiction is part of the answer.",
}));

/** Globals without which no code of the core has a clock, randomness, I/O or a promise. */
const IMPURE_GLOBALS = [
  "globalThis",
  "self",
  "fetch",
  "crypto",
  "Date",
  "Temporal",
  "setTimeout",
  "setInterval",
  "queueMicrotask",
  "scheduler",
  "performance",
  "caches",
  "console",
  "Promise",
  "Request",
  "Response",
];

const isFile = (name: string) => name.endsWith(".ts");

/** Returns the glob of the files in the folder. */
function filesOf(folder: string, name: string): string {
  return isFile(name) ? `${folder}/${name}` : `${folder}/${name}/**`;
}

/** Returns a restriction that refuses an import of each of these files and folders. */
function refusal(names: readonly string[], message: string) {
  return { group: names.map((name) => filesOf("**", name)), message };
}

/** What the console does not import, although it stands in a layer before it. */
const BEHIND_OPERATIONS = refusal(
  ["index-db"],
  "The console calls operations of src/api, which check the permission and the rate limit.",
);

/** Files that only document the files beside them, such as `cancel-task.openapi.ts`. */
const DESCRIPTIONS = ".openapi.ts";

const TOOLS = refusal(["scripts", "test"], "The relay imports no tool and no test.");
const DOCUMENTING = {
  group: [`**/*${DESCRIPTIONS}`],
  message: "The relay imports no description; only the generator of openapi.json does.",
};

/** Restricts the imports of these files. The last restriction that applies to a file replaces all before. */
function imports(files: string, ...own: object[]): OxlintOverride {
  const lazy = LAZY.filter(({ reader }) => reader !== files).map(({ group, message }) => ({
    group,
    message,
    allowTypeImports: true,
  }));
  const documenting = files.endsWith(DESCRIPTIONS) ? [] : [DOCUMENTING];
  const { readers, ...examples } = EXAMPLES;
  const testing = readers.includes(files) ? [] : [examples];
  const patterns = [...own, TOOLS, ...documenting, ...testing, ...lazy];
  return {
    files: [files],
    rules: { "no-restricted-imports": ["error", { paths: [PLAIN_ZOD], patterns }] },
  };
}

/** Returns the number of the row of a layer of `src`, -1 for what stands in no row. */
function rowOf(name: string): number {
  return LAYERS.findIndex((names) => names.includes(name));
}

/** Says whether the layer `reader` of `src` may import the layer `name`. */
function mayImport(reader: string, name: string): boolean {
  const onlyReader = ONLY_IMPORTED_BY[name] ?? reader;
  return rowOf(name) < rowOf(reader) && onlyReader === reader;
}

/** Returns the restrictions that keep a layer of `src` from importing what it must not. */
function ofLayer(reader: string): readonly object[] {
  const others = LAYERS.flat().filter((name) => name !== reader);
  const refused = others.filter((name) => !mayImport(reader, name));
  const direction = refusal(
    refused,
    "A layer imports only layers before it: see oxlint.config.ts.",
  );
  if (reader === "console") return [direction, BEHIND_OPERATIONS];
  if (rowOf(reader) >= rowOf(FIRST_WITH_HONO)) return [direction];
  const framework = { group: ["hono", "hono/*"], message: "Layers before the API know no hono." };
  return [direction, framework];
}

const TASK_OBJECT_LAST = "The task's object calls the other objects, which do not know it.";

const OWN_FOLDER =
  "What all providers share knows no single one: only the registry imports their folders.";

const LAYER_RULES = [
  imports("src/**", ...ofLayer("")),
  ...LAYERS.flat().map((name) => imports(filesOf("src", name), ...ofLayer(name))),
  imports("src/objects/**", ...ofLayer("objects"), refusal(["task"], TASK_OBJECT_LAST)),
  imports("src/objects/task/**", ...ofLayer("objects")),
  imports("src/providers/*.ts", ...ofLayer("providers"), {
    regex: String.raw`^\./[^/]+/`,
    message: OWN_FOLDER,
  }),
  imports("src/providers/shared/*.ts", ...ofLayer("providers"), {
    regex: String.raw`^\.\./[^./]+/`,
    message: OWN_FOLDER,
  }),
  imports("src/providers/registry.ts", ...ofLayer("providers")),
];

/** Names of packages. */
const PACKAGES = "[^.]";
/** The same without those that begin with "zod/": the expressions of oxlint have no lookahead. */
const PACKAGES_BUT_ZOD = "[^.z]|z[^o]|zo[^d]|zod[^/]";

/**
 * Restricts the imports of a part of the core to the layers of the core before it.
 * @param packages expression for the packages that it may not import.
 */
function ofCore(
  files: string,
  depth: number,
  refused: readonly string[],
  packages = PACKAGES,
): OxlintOverride {
  const message = "The core imports only layers of the core before it: see oxlint.config.ts.";
  const outside = `^(?:${packages}|${String.raw`\.\./`.repeat(depth)})`;
  return imports(files, { regex: outside, message }, refusal(refused, message));
}

const CORE_RULES = [
  ofCore("src/core/*", 1, CORE_LAYERS.flat()),
  ...CORE_LAYERS.flatMap((names, row) =>
    names.map((name) => {
      const refused = CORE_LAYERS.slice(row).flat();
      const others = refused.filter((other) => other !== name);
      return ofCore(filesOf("src/core", name), isFile(name) ? 1 : 2, others);
    }),
  ),
  ofCore("src/core/compiled.ts", 1, CORE_LAYERS.flat(), PACKAGES_BUT_ZOD),
  ofCore(
    "src/core/record/record-schema.ts",
    2,
    CORE_LAYERS.flat().filter((name) => name !== "output-metadata" && name !== "record"),
    PACKAGES_BUT_ZOD,
  ),
];

/** Rules of `src` and of parts of it, besides the directions of the imports. */
const SOURCE_RULES: OxlintOverride[] = [
  {
    // Circles of types alone that are left.
    files: ["{bench,scripts,test}/**"],
    rules: { "import/no-cycle": ["error", { ignoreTypes: true }] },
  },
  {
    files: ["src/**"],
    rules: {
      "no-restricted-globals": [
        "error",
        { name: "fetch", message: "Only src/outbound/http.ts sends requests." },
      ],
      "no-restricted-properties": ["error", SIGNAL_TIMEOUT, ...NAMESPACES],
    },
  },
  {
    files: ["src/core/**"],
    rules: {
      "no-restricted-globals": ["error", ...IMPURE_GLOBALS],
      "no-restricted-properties": [
        "error",
        SIGNAL_TIMEOUT,
        ...NAMESPACES,
        { object: "Math", property: "random", message: "Randomness arrives as an argument." },
      ],
      "typescript/promise-function-async": "error",
      "require-await": "error",
      "typescript/await-thenable": "error",
    },
  },
  {
    // A promise that is returned without `await` takes its function out of the stack of a later error.
    files: ["src/api/**"],
    rules: { "typescript/return-await": ["error", "always"] },
  },
  {
    // What a test has started with `using` would end before such a promise has settled.
    files: ["test/**", "bench/**"],
    rules: { "typescript/return-await": ["error", "error-handling-correctness-only"] },
  },
  imports("src/api/http/**", ...ofLayer("api"), {
    // Every name but those that begin with "oper": the expressions of oxlint have no lookahead.
    regex: String.raw`^\.\./(?:[^./]+/|[^.o]|o[^p]|op[^e]|ope[^r])`,
    message: "The frame imports no route and no other folder of the API; it performs operations.",
  }),
  ...LAZY.map(({ reader }) => imports(reader, ...ofLayer("api"))),
  imports(`src/api/**/*${DESCRIPTIONS}`, ...ofLayer("api")),
  ...EXAMPLES.readers.map((reader) => imports(reader, ...ofLayer("providers"))),
  {
    files: ["src/objects/placed-object.ts"],
    rules: { "no-restricted-properties": ["error", SIGNAL_TIMEOUT] },
  },
  {
    // The scripts of the console run in browsers.
    files: ["src/outbound/http.ts", "src/console/client/**"],
    rules: { "no-restricted-globals": "off" },
  },
];

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "oxc", "promise", "jsx-a11y"],
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: ["dist", ".wrangler", "client/*/*schema.d.ts"],
  settings: { "jsx-a11y": { attributes: { for: ["for"] } } },
  rules: {
    "typescript/no-floating-promises": "error",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: false },
    ],
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/consistent-type-imports": "error",
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "typescript/consistent-return": "off",
    "no-underscore-dangle": ["error", { allow: ["_default", "_meta", "_zod"] }],
    "max-lines-per-function": ["error", { max: 50, skipComments: true, skipBlankLines: true }],
    complexity: ["error", { max: 12, variant: "modified" }],
    "unicorn/import-style": [
      "error",
      {
        extendDefaultStyles: false,
        styles: {
          zod: { namespace: true, named: false },
          "zod/mini": { namespace: true, named: false },
        },
      },
    ],
    "no-restricted-properties": ["error", SIGNAL_TIMEOUT],
  },
  overrides: [
    ...LAYER_RULES,
    ...CORE_RULES,
    ...SOURCE_RULES,
    { files: ["test/**"], rules: { "max-lines-per-function": "off" } },
    { files: ["test/simulation/*-rules.ts"], rules: { complexity: "off" } },
  ],
});
