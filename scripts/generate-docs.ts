// Writes the documents that are generated from the code; run by `npm run docs`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { vectorFiles } from "./conformance/vectors.ts";
import { apiDoc } from "./docs/api.ts";
import { clientManifest, clientReadmeDoc, pythonManifest } from "./docs/client-package.ts";
import { configurationDoc } from "./docs/configuration.ts";
import { costDoc } from "./docs/cost.ts";
import { presentHashes } from "./docs/core-hash.ts";
import { readmeDoc } from "./docs/deploy-button.ts";
import { errorsDoc } from "./docs/errors.ts";
import { Builds, promisesDoc } from "./docs/measured.ts";
import { pageOf, PROVIDER_PAGES, providersDoc } from "./docs/providers.ts";
import { openApiText } from "./openapi/document.ts";
import { workerdClusterConfig, workerdConfig } from "./self-host/workerd-config.ts";

const inTree = (path: string) => join(import.meta.dirname, "..", path);
const write = (path: string, text: string) => writeFileSync(inTree(path), text);
/** Rewrites the generated parts of a page whose other parts are written by hand. */
const rewrite = (path: string, doc: (page: string) => string) =>
  write(path, doc(readFileSync(inTree(path), "utf8")));

write("docs/errors.md", errorsDoc());
rewrite("docs/configuration.md", configurationDoc);
rewrite("docs/cost.md", costDoc);
const titleOf = (name: string) =>
  /^# (.*)$/m.exec(readFileSync(inTree(pageOf(name)), "utf8"))?.[1] ?? "";
rewrite("docs/providers.md", (page) => providersDoc(page, titleOf));
for (const [path, doc] of PROVIDER_PAGES) rewrite(path, doc);
const Manifest = z.looseObject({ version: z.string() });
const manifest = Manifest.parse(JSON.parse(readFileSync(inTree("package.json"), "utf8")));
const builds = Builds.parse(JSON.parse(readFileSync(inTree("docs/measured.json"), "utf8")));
const presentHash = presentHashes(inTree("."));
rewrite("README.md", (page) => readmeDoc(page, manifest));
rewrite("client/README.md", (page) => clientReadmeDoc(page, manifest));
rewrite("client/package.json", (text) => clientManifest(text, manifest));
rewrite("client-python/README.md", (page) => clientReadmeDoc(page, manifest));
rewrite("client-python/pyproject.toml", (text) => pythonManifest(text, manifest));
rewrite("docs/promises.md", (page) => promisesDoc(page, builds, presentHash));
const openApi = openApiText();
write("openapi.json", openApi);
rewrite("docs/api.md", (page) => apiDoc(page, JSON.parse(openApi)));
write("ops/workerd.capnp", workerdConfig());
write("ops/workerd-cluster.capnp", workerdClusterConfig());
for (const [name, text] of await vectorFiles()) write(`conformance/${name}`, text);
