import { fillRegions } from "./regions.ts";
import { repositoryUrl } from "./repository.ts";

/** Folder of the client in the repository. */
const DIRECTORY = "client";

/** Returns the README of the client, which leads to the repository that `package.json` names. */
export function clientReadmeDoc(readme: string, manifest: object): string {
  const url = repositoryUrl(manifest);
  const repository = "repository of the relay";
  const linked = url === null ? repository : `[${repository}](${url})`;
  return fillRegions(readme, {
    repository: `Pages such as \`docs/api.md\` are in the ${linked}.`,
  });
}

/**
 * Returns the client's `package.json` with the repository that the relay's names. npm refuses a package with a statement
 * of provenance unless its `package.json` names the repository that has built it.
 * @param text the present file.
 */
export function clientManifest(text: string, manifest: object): string {
  const url = repositoryUrl(manifest);
  const { repository: _, ...rest }: Record<string, unknown> = JSON.parse(text);
  const { name, version, description, license, ...further } = rest;
  const repository = { type: "git", url: `git+${url}.git`, directory: DIRECTORY };
  const named = url === null ? {} : { repository };
  const members = { name, version, description, license, ...named, ...further };
  return `${JSON.stringify(members, null, 2)}\n`;
}
