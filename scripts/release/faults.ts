import * as z from "zod";

const Manifest = z.looseObject({ version: z.string(), repository: z.unknown().optional() });

/** The files of a tree that name its release. */
interface ReleaseFiles {
  /** Parsed `package.json`. */
  readonly manifest: unknown;
  /** Parsed `client/package.json`. */
  readonly clientManifest: unknown;
  /** `client-python/pyproject.toml`. */
  readonly pythonManifest: string;
  /** `CHANGELOG.md`. */
  readonly changelog: string;
}

/** Returns why a tree is not that of a tag, a sentence for each reason; none when it may be published. */
export function releaseFaults(tag: string, files: ReleaseFiles): readonly string[] {
  const [, version] = /^v(\d+\.\d+\.\d+)$/.exec(tag) ?? [];
  if (version === undefined) return [`The tag ${tag} is not of the form v1.0.0.`];
  const manifest = Manifest.parse(files.manifest);
  const client = Manifest.parse(files.clientManifest);
  const versions = [
    ["package.json", manifest.version],
    ["client/package.json", client.version],
    ["client-python/pyproject.toml", /^version = "(.*)"$/m.exec(files.pythonManifest)?.[1]],
  ].filter(([, stated]) => stated !== version);
  const heading = new RegExp(
    String.raw`^## \[${version.replaceAll(".", String.raw`\.`)}\] - \d{4}-\d\d-\d\d$`,
    "m",
  );
  return [
    ...versions.map(([file, stated]) => `${file} has the version ${stated}, not ${version}.`),
    ...(heading.test(files.changelog)
      ? []
      : [`CHANGELOG.md has no heading "## [${version}] - " with the date.`]),
    ...(client.repository === undefined
      ? [
          'client/package.json names no repository, which npm compares with the one that builds the package: set "repository" in package.json, then npm run docs.',
        ]
      : []),
  ];
}
