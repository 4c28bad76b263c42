import { fillRegions } from "./regions.ts";
import { repositoryUrl } from "./repository.ts";

/** Folder of the client in the repository. */
const DIRECTORY = "client";
/** Folder of the Python client. */
const PYTHON_DIRECTORY = "client-python";

/** Pages of the repository in a text, each maybe linked to an address that was written before. */
const PAGES = /\[?`(docs\/[\w-]+\.md)`(?:\]\(https:[^)]*\))?/g;

/**
 * Returns the README of a client, in which each page of the repository is a link into the one that `package.json` names.
 * Without a public address it is the path alone: the README is part of the package, which the pages are not.
 */
export function clientReadmeDoc(readme: string, manifest: object): string {
  const url = repositoryUrl(manifest);
  const repository = "repository of the relay";
  const linked = url === null ? repository : `[${repository}](${url})`;
  const page = fillRegions(readme, {
    repository: `Pages such as \`docs/api.md\` are in the ${linked}. A running relay serves the reference of its API at \`/docs\`, and its problem codes at \`/docs/errors\`.`,
  });
  return page.replaceAll(PAGES, (_, path: string) =>
    url === null ? `\`${path}\`` : `[\`${path}\`](${url}/blob/HEAD/${path})`,
  );
}

/**
 * Returns the client's `package.json` with the repository that the relay's names, and the client's folder there as the
 * home page. npm refuses a package with a statement of provenance unless its `package.json` names the repository that
 * has built it.
 * @param text the present file.
 */
export function clientManifest(text: string, manifest: object): string {
  const url = repositoryUrl(manifest);
  const { repository: _, homepage: __, ...rest }: Record<string, unknown> = JSON.parse(text);
  const { name, version, description, keywords, license, ...further } = rest;
  // In the order of the formatter.
  const members = {
    name,
    version,
    description,
    keywords,
    ...(url !== null && { homepage: `${url}/tree/HEAD/${DIRECTORY}#readme` }),
    license,
    ...(url !== null && {
      repository: { type: "git", url: `git+${url}.git`, directory: DIRECTORY },
    }),
    ...further,
  };
  return `${JSON.stringify(members, null, 2)}\n`;
}

/**
 * Returns the Python client's `pyproject.toml` with the version of the relay's `package.json`, and its repository.
 * @param text the present file.
 */
export function pythonManifest(text: string, manifest: { readonly version: string }): string {
  const url = repositoryUrl(manifest);
  const homepage = url === null ? "" : `urls.Homepage = "${url}/tree/HEAD/${PYTHON_DIRECTORY}"\n`;
  return text.replace(
    /^version = .*\n(?:urls\..*\n)?/m,
    `version = "${manifest.version}"\n${homepage}`,
  );
}
