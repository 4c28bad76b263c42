// Starts scripts/generate.ts. Without its development dependencies the tree may have only a Node that cannot read
// TypeScript: then nothing can be generated, and the installation must not fail for that.
if (process.features.typescript) await import("./generate.ts");
else console.log(`generate: nothing generated, because Node ${process.version} runs no TypeScript`);
