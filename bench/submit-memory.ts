import { table } from "./page.ts";
import { isReadWithin, LARGE_BODIES, LEAST_HEAP_MB } from "./submit-heap.ts";

// Measures the heap that reading and editing the JSON body of a submission needs: `npm run bench:submit`, two minutes.
// For each body it finds the smallest limit of the heap with which workerd reads the body, and it fails when that is
// above 96 MB.

const MAX_HEAP_MB = 96;
const STEP_MB = 4;

const rows: string[][] = [];
for (const [kind, body] of LARGE_BODIES) {
  const heapMb = await neededHeapMb(body);
  rows.push([kind, String(heapMb)]);
  if (heapMb > MAX_HEAP_MB) process.exitCode = 1;
}
console.log(table(["body of 16 MB", "heap needed, MB"], rows));

/** Finds the smallest limit of the heap, in steps, with which a body is read. */
async function neededHeapMb(body: Uint8Array<ArrayBuffer>): Promise<number> {
  let [tooSmall, enough] = [LEAST_HEAP_MB - STEP_MB, 2 * MAX_HEAP_MB];
  while (enough - tooSmall > STEP_MB) {
    const middle = Math.round((tooSmall + enough) / 2 / STEP_MB) * STEP_MB;
    if (await isReadWithin(middle, body)) enough = middle;
    else tooSmall = middle;
  }
  return enough;
}
