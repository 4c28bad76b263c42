import { VARIABLE_GROUPS } from "../docs/variables.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { configText, workerText } from "./workerd-text.ts";

const HEADER = `# Configuration of workerd for a machine of your own: docs/self-host.md. Written by \`npm run docs\`.
# Every variable of the relay comes from the environment of the process. Add further ones, such as
# CONNECTIONS_4, to the list at the end.
#
# "public" keeps requests away from the addresses of your own networks, also when a name leads there. To let the
# relay call a service in them, such as your billing, add its address: allow = ["public", "10.0.0.5/32"].
`;

/** Returns the text of `ops/workerd.capnp`, with every variable that has a meaning without Cloudflare. */
export function workerdConfig(): string {
  const described = Object.values(VARIABLE_GROUPS).flatMap((group) =>
    Object.entries(group).flatMap(([name, { aliases = [] }]) => [name, ...aliases]),
  );
  const ofProviders = [...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables));
  const variables = [...described, ...ofProviders].filter(
    (name) => !/^(?:INDEX_SHARD|JURISDICTION|LOCATION)/.test(name),
  );
  const relay = workerText({ name: "relay", variables: [...new Set(variables)], hasIndex: true });
  return HEADER + configText({ allow: ["public"] }) + relay;
}
