import "./hooks.ts";

/** Runs one life; the modules of the relay are loaded after those of the platform were replaced. */
export const { runSeed } = await import("./run.ts");
