import type { NewProvider } from "./names.ts";
import { adapterOf, examplesOf, sectionOf } from "./templates.ts";

/** Error for a file of the repository that lacks the place at which a new provider is inserted. */
export class UnexpectedFile extends Error {}

/** Text of a file, by its path in the repository. */
export type Files = ReadonlyMap<string, string>;

const REGISTRY = "src/providers/registry.ts";
const PAGE = "docs/providers.md";
const README = "README.md";
/** Paths of the files that list all providers. */
export const LISTS = [REGISTRY, PAGE, README] as const;
/**
 * Paths of further files that get entries once a provider turns out to sign its hooks, with what is entered. The
 * compiler names the first two as soon as the adapter states it (`hooks.assurance`).
 */
export const FILES_OF_SIGNED_HOOKS = [
  ["test/providers/signatures/schemes.ts", "SCHEMES: an example that was signed without our code"],
  ["test/worker/senders.ts", "SIGNERS and SECRET_VARS: how a fake of the provider signs"],
  ["docs/providers.md", "the variable of the secret, and what a signature proves"],
] as const;
/** The first of the gateways, before which lists name a new provider. */
const FIRST_GATEWAY = "newapi";

/** Returns the files that a new provider needs, with their new texts. @param before texts of `LISTS`. */
export function filesOf(provider: NewProvider, before: Files): Files {
  const { name, identifier } = provider;
  const edit = (path: string, ...insertions: readonly (readonly [string, string])[]) =>
    [path, insertions.reduce(inserted(path), before.get(path) ?? "")] as const;
  const entry = [`\n  ${FIRST_GATEWAY},\n`, `\n  ${identifier},`] as const;
  const imported = [
    `\nimport { ${FIRST_GATEWAY} }`,
    `\nimport { ${identifier} } from "./${name}/${name}.ts";`,
  ] as const;
  const folder = `src/providers/${name}`;
  return new Map([
    [`${folder}/${name}.ts`, adapterOf(provider)],
    [`${folder}/${name}.examples.ts`, examplesOf(provider)],
    edit(REGISTRY, imported, entry),
    edit(PAGE, ...rowsOf(provider), ["\n## Gateways\n", `\n${sectionOf(provider).trimEnd()}\n`]),
    edit(README, [", and gateways: ", `, \`${name}\``]),
  ]);
}

/** Returns the rows of a new provider in the tables of docs/providers.md, each with the text that it precedes. */
function rowsOf({ name, prefix, hasHooks }: NewProvider): readonly (readonly [string, string])[] {
  const gateway = `\n| \`${FIRST_GATEWAY}\` | `;
  const code = `\`${name}\``;
  const unknown = "not documented";
  const found = hasHooks ? "by the poll that its hook causes" : "by polls alone";
  const variables = `\`${prefix}_API_KEY\`, \`${prefix}_BASE_URL\``;
  const proof = hasHooks ? "nothing" : "it sends none";
  return [
    [`${gateway}by polls`, row(code, found, "nothing")],
    [`${gateway}\`quota\``, `\n| ${code} | nothing | | |`],
    [`\n| [\`${FIRST_GATEWAY}\`]`, row(`[${code}](#${name})`, variables, proof, "key, job")],
    [`${gateway}not documented`, row(code, unknown, unknown, unknown)],
  ];
}

function row(...cells: readonly string[]): string {
  return `\n| ${cells.join(" | ")} |`;
}

/** Returns a function that inserts a text before another one, which must occur in the file. */
function inserted(path: string) {
  return (text: string, [following, added]: readonly [string, string]): string => {
    const position = text.indexOf(following);
    if (position === -1) throw new UnexpectedFile(`${path} does not contain ${following.trim()}`);
    return text.slice(0, position) + added + text.slice(position);
  };
}
