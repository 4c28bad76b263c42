import * as z from "zod";
import { fillRegions } from "./regions.ts";

/** Part of `package.json`: the public repository, in one of the forms of npm. */
const Manifest = z.looseObject({
  repository: z.union([z.string(), z.looseObject({ url: z.string() })]).optional(),
});
type Repository = z.output<typeof Manifest>["repository"];

const HOSTS = ["github.com", "gitlab.com"];

/**
 * Returns the address of the repository that the deploy button copies; null when `package.json` names none,
 * or none that the button can copy, which are only those on github.com and gitlab.com.
 */
function repositoryUrl(repository: Repository): string | null {
  const text = typeof repository === "object" ? repository.url : (repository ?? "");
  const short = /^(?:(github|gitlab):)?([\w.-]+\/[\w.-]+)$/.exec(text);
  const full = short === null ? text : `https://${short[1] ?? "github"}.com/${short[2]}`;
  const url = URL.parse(full.replace(/^git\+/, "").replace(/\.git$/, ""));
  if (url === null || url.protocol !== "https:" || !HOSTS.includes(url.hostname)) return null;
  return `${url.origin}${url.pathname}`;
}

/** Returns what `README.md` shows for a repository: its button, or why there is none. */
function buttonOf(repository: string | null): string {
  if (repository === null) {
    return "The deploy button stands here once `repository` in `package.json` names the public address of this repository, see [docs/deploy.md](docs/deploy.md#deploy-button).";
  }
  const image = "https://deploy.workers.cloudflare.com/button";
  return `[![Deploy to Cloudflare](${image})](https://deploy.workers.cloudflare.com/?url=${repository})`;
}

/**
 * Returns `README.md` with the button of the repository that `package.json` names.
 * @param measured what the page says about the builds of its figures.
 */
export function readmeDoc(readme: string, manifest: object, measured: string): string {
  const { repository } = Manifest.parse(manifest);
  return fillRegions(readme, { "deploy-button": buttonOf(repositoryUrl(repository)), measured });
}
