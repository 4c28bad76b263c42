import { fillRegions } from "./regions.ts";
import { repositoryUrl } from "./repository.ts";

/** Returns what `README.md` shows for a repository: its button, or why there is none. */
function buttonOf(repository: string | null): string {
  if (repository === null) {
    return "The deploy button stands here once `repository` in `package.json` names the public address of this repository, see [docs/deploy.md](docs/deploy.md#deploy-button).";
  }
  const image = "https://deploy.workers.cloudflare.com/button";
  return `[![Deploy to Cloudflare](${image})](https://deploy.workers.cloudflare.com/?url=${repository})`;
}

/** Returns `README.md` with the button of the repository that `package.json` names. */
export function readmeDoc(readme: string, manifest: object): string {
  return fillRegions(readme, { "deploy-button": buttonOf(repositoryUrl(manifest)) });
}
