// `npm run bench`: `-- --startup` measures the start of a Worker, everything else its throughput.

if (process.argv.includes("--startup")) await import("./startup/main.ts");
else await import("./throughput/main.ts");
