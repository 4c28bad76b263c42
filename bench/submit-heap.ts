import { join } from "node:path";
import * as z from "zod";
import { Workerd } from "../test/process/harness/workerd.ts";

const BODY_BYTES = 16_000_000;
/** Half of the space for new objects. V8 takes up to three times as much for them. */
const HALF_SPACE_MB = 4;
/** Smallest heap that `isReadWithin` can make. */
export const LEAST_HEAP_MB = 4 * HALF_SPACE_MB;
const MODEL = "doubao-seedance-2-0-260128";

/** JSON bodies of 16 MB, by what they consist of. */
export const LARGE_BODIES: ReadonlyMap<string, Uint8Array<ArrayBuffer>> = new Map([
  ["mixed text", bodyOf("[", String.raw`"a fox, 一只狐狸 🦊\n\"so\" \u00e9", {"é": "…"},`, "0]")],
  ["numbers and brackets", bodyOf("[", "[1,-2.5e3],[[0],{}],", "0]")],
  ["a string of ASCII", bodyOf('"', "iVBORw0KGgo=", '"')],
  ["a string of escapes", bodyOf('"', String.raw`\n\u00e9`, '"')],
  ["a string of escaped letters", bodyOf('"', String.raw`\u0061`, '"')],
  ["blanks", bodyOf("[", " ", "0]")],
]);

const Answer = z.object({ length: z.number(), models: z.tuple([z.literal(MODEL)]) });

/**
 * Tells whether a fresh workerd, whose heap is limited to this size, reads, searches and edits a body; otherwise it dies. The
 * bytes of the body lie outside of the heap.
 */
export async function isReadWithin(heapMb: number, body: Uint8Array<ArrayBuffer>) {
  const entry = join(import.meta.dirname, "submit-memory-worker.ts");
  const v8Flags = [
    `--max-semi-space-size=${HALF_SPACE_MB}`,
    `--max-old-space-size=${heapMb - 3 * HALF_SPACE_MB}`,
  ];
  await using server = await Workerd.start({ vars: {}, entry, v8Flags, hasIndex: false });
  const answer = await fetch(server.url, { method: "POST", body }).catch(() => null);
  if (answer === null) return false;
  if (answer.status !== 200) throw new Error(await answer.text());
  const { length } = Answer.parse(await answer.json());
  return length > body.length;
}

function bodyOf(open: string, repeated: string, close: string): Uint8Array<ArrayBuffer> {
  const times = Math.floor(BODY_BYTES / Buffer.byteLength(repeated));
  const input = open + repeated.repeat(times) + close;
  return new Uint8Array(Buffer.from(`{"model":"${MODEL}","input":${input}}`));
}
