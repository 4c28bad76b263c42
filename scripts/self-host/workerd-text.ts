import { OBJECT_CLASSES } from "../../src/config/object-bindings.ts";

/**
 * Parts of a configuration of workerd (`workerd.capnp` of its sources has the schema) that serves the relay.
 * `ops/workerd.capnp` and `ops/workerd-cluster.capnp`, for machines of one's own, and the tests' relays are made of them.
 */

/** Date and flags with which the relay runs everywhere (wrangler.toml). */
const COMPATIBILITY = `compatibilityDate = "2026-10-20",
  compatibilityFlags = ["global_fetch_strictly_public"],`;

interface Connections {
  /** False when all requests go over connections that workerd keeps; true by default. */
  readonly hasNewConnections?: boolean;
}

/** A Worker of the configuration: its name, and where the objects of the relay are. */
interface WorkerOptions extends Connections {
  readonly name: string;
  /** Returns the name of the Worker that runs the objects of a binding; by default this one. */
  readonly homeOf?: (binding: string) => string;
  /** Variables that workerd takes from its environment; the relay sees those that are missing as not set. */
  readonly variables: readonly string[];
  /** False for a Worker without an index, whose code may lack the class of its object; true by default. */
  readonly hasIndex?: boolean;
  /** Further bindings, each an entry of a list in the text of workerd. */
  readonly bindings?: readonly string[];
}

/** Parts of a configuration besides the relay, each an entry of a list in the text of workerd. */
interface ConfigOptions extends Connections {
  readonly services?: readonly string[];
  readonly sockets?: readonly string[];
  /** Modules that the code of Workers of the configuration may import. */
  readonly extensions?: readonly string[];
  /**
   * True for one of several processes that share the objects. The files `cluster-bucket` and `cluster-key` of the
   * operator then name the bucket and the key. False by default.
   */
  readonly isCluster?: boolean;
  /** Options of the JavaScript engine besides the limit of its memory. */
  readonly v8Flags?: readonly string[];
}

/**
 * Describes the services of the configuration. The address of the socket `http`, the directory of the objects,
 * `disk`, and that of the files, `public`, are options of `workerd serve`. The operator's file `allow.capnp`, in a
 * directory of `--import-path`, lists the networks that the relay may connect to, whatever name leads there.
 */
export function configText(options: ConfigOptions): string {
  const { sockets = [], extensions = [], v8Flags = [], hasNewConnections = true } = options;
  const further = hasNewConnections ? ['(name = "new-connections", worker = .newConnections)'] : [];
  const services = [...further, ...(options.services ?? [])];
  const flags = ["--max-old-space-size=128", ...v8Flags].map((flag) => `"${flag}"`).join(", ");
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "relay", worker = .relay),
    (name = "disk", disk = (writable = true)),
    (name = "public", disk = ()),
    (name = "network", network = (allow = import "/allow.capnp".networks, tlsOptions = (trustBrowserCas = true))),
    # Reaches the store of OUTPUTS_S3_URL, also in your own networks, and is used for nothing else.
    (name = "outputs-s3", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),${linesOf(services)}
  ],
  # The memory of an isolate on Cloudflare.
  v8Flags = [${flags}],
  sockets = [
    (name = "http", http = (), service = "relay"),${linesOf(sockets)}
  ],${extensions.length === 0 ? "" : `\n  extensions = [${linesOf(extensions)}\n  ],`}${options.isCluster === true ? CLUSTER : ""}
);
${hasNewConnections ? NEW_CONNECTIONS : ""}`;
}

/** Describes the cluster. The address of the private port is an option of `workerd serve`, as that of the socket is. */
const CLUSTER = `
  cluster = (
    bucket = embed "/cluster-bucket",
    key = embed "/cluster-key",
  ),`;

/** Describes the Worker that sends each request on a new connection; the HTTP client for it is experimental. */
const NEW_CONNECTIONS = `
const newConnections :Workerd.Worker = (
  modules = [(name = "new-connections.js", esModule = embed "new-connections.js")],
  compatibilityDate = "2026-10-20",
  compatibilityFlags = ["experimental"],
  globalOutbound = "network",
);
`;

const linesOf = (entries: readonly string[]) => entries.map((entry) => `\n    ${entry},`).join("");

/** The class of the object with the index, by its binding. */
const INDEX_CLASS = { INDEX_OBJECT: "IndexObject" } as const;

/** Modules of the relay; the first one answers the files of `public` before it. */
const RELAY_MODULES = [
  `(name = "files.js", esModule = embed "files.js")`,
  `(name = "index.js", esModule = embed "index.js")`,
  `(name = "_headers", text = embed "public/_headers")`,
];

/** Describes a Worker of the relay, whose code is the file `index.js`, or for another one `<name>.js`. */
export function workerText(options: WorkerOptions): string {
  const { name, homeOf = () => name, variables } = options;
  const { hasNewConnections = true, hasIndex = true } = options;
  const isRelay = name === "relay";
  const modules = isRelay
    ? RELAY_MODULES
    : [`(name = "${name}.js", esModule = embed "${name}.js")`];
  const classes = Object.entries({ ...OBJECT_CLASSES, ...(hasIndex && INDEX_CLASS) });
  const namespace = (binding: string, className: string) =>
    `(name = "${binding}", durableObjectNamespace = (className = "${className}", serviceName = "${homeOf(binding)}")),`;
  const bindings = [
    ...(isRelay
      ? ['(name = "FILES", service = "public"),', '(name = "ASSETS", service = "relay"),']
      : []),
    '(name = "OUTPUTS_S3", service = "outputs-s3"),',
    ...(hasNewConnections ? ['(name = "NEW_CONNECTIONS", service = "new-connections"),'] : []),
    ...classes.map(([binding, className]) => namespace(binding, className)),
    ...(options.bindings ?? []).map((binding) => `${binding},`),
    ...variables.map((variable) => `(name = "${variable}", fromEnvironment = "${variable}"),`),
  ];
  return `
const ${name} :Workerd.Worker = (
  modules = [${linesOf(modules)}
  ],
  ${COMPATIBILITY}
  globalOutbound = "network",${objectsText(classes.filter(([binding]) => homeOf(binding) === name))}
  bindings = [${bindings.map((binding) => `\n    ${binding}`).join("")}
  ],
);
`;
}

/**
 * Describes the classes of objects that a Worker runs. Each has a directory below the directory `disk`, the name of
 * its binding in lower case, with one SQLite database for each object and `metadata.sqlite` with their alarms.
 */
function objectsText(classes: readonly (readonly [binding: string, className: string])[]): string {
  if (classes.length === 0) return "";
  return `
  durableObjectNamespaces = [${linesOf(
    classes.map(
      ([binding, name]) =>
        `(className = "${name}", uniqueKey = "${binding.toLowerCase()}", enableSql = true)`,
    ),
  )}
  ],
  durableObjectStorage = (localDisk = "disk"),`;
}
