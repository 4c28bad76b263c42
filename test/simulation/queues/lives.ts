import { replaceModules } from "./hooks.ts";

replaceModules();
/** Runs one life. Its modules are loaded after those of the platform were replaced. */
export const { runSeed } = await import("./run.ts");
