import { VARIABLE_GROUPS } from "../docs/variables.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { configText, workerText } from "./workerd-text.ts";

const HEADER = `# Configuration of workerd for a machine of your own: docs/self-host.md. Written by \`npm run docs\`.
# Every variable of the relay comes from the environment of the process. What differs from one installation to the
# next stands in files in a directory of --import-path: allow.capnp has the networks that the relay may call.
`;

const CLUSTER_HEADER = `# Configuration of workerd for several machines of your own: docs/cluster.md. Written by \`npm run docs\`.
# Every variable of the relay comes from the environment of the process, and so does the access to the bucket
# (AWS_ENDPOINT_URL …). What differs from one installation to the next stands in files in a directory of
# --import-path: allow.capnp has the networks that the relay may call, cluster-bucket the bucket, cluster-key the key.
`;

/** Returns the text of `ops/workerd.capnp`, for one process. */
export function workerdConfig(): string {
  return HEADER + configText({}) + relayText();
}

/** Returns the text of `ops/workerd-cluster.capnp`, for processes that share their objects over a bucket. */
export function workerdClusterConfig(): string {
  return CLUSTER_HEADER + configText({ isCluster: true }) + relayText();
}

/** Describes the relay, with every variable that has a meaning without Cloudflare. */
function relayText(): string {
  const described = Object.values(VARIABLE_GROUPS).flatMap((group) =>
    Object.entries(group).flatMap(([name, { aliases = [] }]) => [name, ...aliases]),
  );
  const ofProviders = [...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables));
  const variables = [...described, ...ofProviders].filter(
    (name) => !/^(?:INDEX_SHARD|JURISDICTION|LOCATION)/.test(name),
  );
  return workerText({ name: "relay", variables: [...new Set(variables)] });
}
