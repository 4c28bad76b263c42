/** A deployment that `wrangler.toml` describes. */
export interface Environment {
  readonly name: EnvironmentName;
  /** Value of wrangler's option `--env`; empty for the settings at the top of `wrangler.toml`. */
  readonly wranglerName: string;
  /** File of its secrets, in the root of the repository. */
  readonly secretsFile: string;
  /** Command that writes the file of secrets. */
  readonly setup: string;
}

export type EnvironmentName = "production" | "preview";

export const ENVIRONMENTS: Readonly<Record<EnvironmentName, Environment>> = {
  production: {
    name: "production",
    wranglerName: "",
    secretsFile: ".secrets",
    setup: "npm run setup",
  },
  preview: {
    name: "preview",
    wranglerName: "preview",
    secretsFile: ".secrets.preview",
    setup: "npm run setup -- --env preview",
  },
};

export function isEnvironmentName(name: string): name is EnvironmentName {
  return Object.hasOwn(ENVIRONMENTS, name);
}

/** Returns the option with which our commands take an environment, after a space; empty for production. */
export function optionFor({ name, wranglerName }: Environment): string {
  return wranglerName === "" ? "" : ` --env ${name}`;
}
