import { bytesPerCall, FORM_BYTES, memoryByCalls } from "./open-calls.ts";
import { table } from "./page.ts";
import { isReadWithin, LARGE_BODIES, LEAST_HEAP_MB } from "./submit-heap.ts";

// Measures the memory of submissions: `npm run bench:submit`, five minutes. For each of some large JSON bodies it finds
// the smallest limit of the heap with which workerd reads and edits the body, and it fails when that is above 96 MB. Then
// it opens up to 1,000 calls whose clients do not wait, and fails when each takes more than 32 KB of the isolate.

const MAX_HEAP_MB = 96;
const OPEN_CALLS = [0, 100, 300, 1_000];
const MAX_CALL_BYTES = 32_000;
const STEP_MB = 4;

const rows: string[][] = [];
for (const [kind, body] of LARGE_BODIES) {
  const heapMb = await neededHeapMb(body);
  rows.push([kind, String(heapMb)]);
  if (heapMb > MAX_HEAP_MB) process.exitCode = 1;
}
console.log(table(["body of 16 MB", "heap needed, MB"], rows));

const measured = await memoryByCalls(OPEN_CALLS);
const bytes = bytesPerCall(measured);
if (bytes > MAX_CALL_BYTES) process.exitCode = 1;
console.log(
  table(
    ["open calls", "isolate, MB", "process, MB"],
    measured.map(({ calls, isolateBytes, rssBytes }) => [
      calls.toLocaleString("en-US"),
      (isolateBytes / 1e6).toFixed(1),
      (rssBytes / 1e6).toFixed(0),
    ]),
  ),
);
console.log(`${(bytes / 1e3).toFixed(1)} KB of the isolate for each call with ${FORM_BYTES} bytes`);

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
