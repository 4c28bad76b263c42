// `npm run bench:submit`: `-- --first-byte` measures how long callers wait, everything else the heap of a body.

if (process.argv.includes("--first-byte")) await import("./first-byte.ts");
else await import("./submit-memory.ts");
