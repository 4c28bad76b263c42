import type { NewProvider } from "./names.ts";
import { adapterOf, corpusPageOf, examplesOf, pageOf } from "./templates.ts";

/** Error for a file of the repository that lacks the place at which a new provider is inserted. */
export class UnexpectedFile extends Error {}

/** Text of a file, by its path in the repository. */
export type Files = ReadonlyMap<string, string>;

const REGISTRY = "src/providers/registry.ts";
const README = "README.md";
/** Paths of the files that list all providers by hand. */
export const LISTS = [REGISTRY, README] as const;
/**
 * Paths of further files that get entries once a provider turns out to sign its hooks, with what is entered. The
 * compiler names the first two as soon as the adapter states it (`hooks.assurance`).
 */
export const FILES_OF_SIGNED_HOOKS = [
  ["test/providers/signatures/schemes.ts", "SCHEMES: an example that was signed without our code"],
  ["test/worker/senders.ts", "SIGNERS and SECRET_VARS: how a fake of the provider signs"],
  ["README.md of its folder", "the variable of the secret, and what a signature proves"],
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
    [`${folder}/README.md`, pageOf(provider)],
    [`${folder}/corpus/README.md`, corpusPageOf(provider)],
    edit(REGISTRY, imported, entry),
    edit(README, [", and gateways: ", `, \`${name}\``]),
  ]);
}

/** Returns a function that inserts a text before another one, which must occur in the file. */
function inserted(path: string) {
  return (text: string, [following, added]: readonly [string, string]): string => {
    const position = text.indexOf(following);
    if (position === -1) throw new UnexpectedFile(`${path} does not contain ${following.trim()}`);
    return text.slice(0, position) + added + text.slice(position);
  };
}
