// Makes the kept release anew from this tree: `npm run release:keep`. With `--records` it only adds records with shapes
// that the kept ones lack.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { parseRecord } from "../src/core/record/record-schema.ts";
import { furtherRecords } from "../test/kept-release/kept-records.ts";

const ROOT = join(import.meta.dirname, "..");
const KEPT = join(ROOT, "test/kept-release");
const RECORDS = join(KEPT, "records.json");

const { values } = parseArgs({
  options: {
    records: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    lives: { type: "string", default: "20000" },
  },
});

function keepBuild(): void {
  execFileSync("npm", ["run", "build", "--silent"], { cwd: ROOT, stdio: "inherit" });
  const bundle = gzipSync(readFileSync(join(ROOT, "dist/index.js")), { level: 9 });
  writeFileSync(join(KEPT, "worker.js.gz"), bundle);
  copyFileSync(join(ROOT, "openapi.json"), join(KEPT, "openapi.json"));
  console.log(`worker.js.gz (${bundle.length} bytes), openapi.json`);
}

function readKept(): Readonly<Record<string, object>> {
  return JSON.parse(readFileSync(RECORDS, "utf8"));
}

async function keepRecords(kept: Readonly<Record<string, object>>): Promise<void> {
  const known = Object.values(kept).map(parseRecord);
  const further = await furtherRecords(known, Number(values.seed), Number(values.lives));
  const lines = Object.entries({ ...kept, ...further }).map(
    ([name, record]) => `${JSON.stringify(name)}: ${JSON.stringify(record)}`,
  );
  writeFileSync(RECORDS, `{\n${lines.join(",\n")}\n}\n`);
  console.log(`records.json: ${Object.keys(further).length} new records, ${lines.length} in all`);
}

if (!values.records) keepBuild();
await keepRecords(values.records ? readKept() : {});
