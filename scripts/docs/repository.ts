import * as z from "zod";

/** Part of `package.json`: the public repository, in one of the forms of npm. */
const Manifest = z.looseObject({
  repository: z.union([z.string(), z.looseObject({ url: z.string() })]).optional(),
});

const HOSTS = ["github.com", "gitlab.com"];

/**
 * Returns the public address of the repository that `package.json` names; null when it names none, or none on
 * github.com or gitlab.com, the hosts that the deploy button and npm's statements of provenance know.
 */
export function repositoryUrl(manifest: object): string | null {
  const { repository } = Manifest.parse(manifest);
  const text = typeof repository === "object" ? repository.url : (repository ?? "");
  const short = /^(?:(github|gitlab):)?([\w.-]+\/[\w.-]+)$/.exec(text);
  const full = short === null ? text : `https://${short[1] ?? "github"}.com/${short[2]}`;
  const url = URL.parse(full.replace(/^git\+/, "").replace(/\.git$/, ""));
  if (url === null || url.protocol !== "https:" || !HOSTS.includes(url.hostname)) return null;
  return `${url.origin}${url.pathname}`;
}
