// Evaluates the parameters of one node as n8n does, with the packages that are installed in the working directory:
// its own descriptions of nodes (nodes.json) and its own expressions (n8n-workflow). Reads a request from stdin, and
// prints the parameters and what n8n's editor would complain about.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { NodeHelpers, Workflow } = require("n8n-workflow");
const descriptions = JSON.parse(readFileSync("package/dist/types/nodes.json", "utf8"));
const { workflow, node: name, items, execution } = JSON.parse(readFileSync(0, "utf8"));

function getByNameAndVersion(type, version) {
  const description = descriptions.find((each) => {
    return `n8n-nodes-base.${each.name}` === type && [each.version].flat().includes(version);
  });
  if (description === undefined) throw new Error(`n8n has no node ${type} of version ${version}`);
  return { description };
}

const loaded = new Workflow({ ...workflow, active: false, nodeTypes: { getByNameAndVersion } });
const node = loaded.getNode(name);
const { description } = getByNameAndVersion(node.type, node.typeVersion);
const runData = Object.fromEntries(
  Object.entries(items).map(([source, json]) => {
    return [source, [{ startTime: 0, executionTime: 0, data: { main: [[{ json }]] } }]];
  }),
);
const input = Object.values(items)
  .slice(-1)
  .map((json) => ({ json }));
const parameters = loaded.expression.getParameterValue(
  node.parameters,
  { resultData: { runData } },
  0,
  0,
  name,
  input,
  "manual",
  { $execution: execution },
);
const issues = NodeHelpers.getNodeParametersIssues(description.properties, node, description);
process.stdout.write(JSON.stringify({ parameters, issues }));
