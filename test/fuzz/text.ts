import * as fc from "fast-check";
import { changed, weighted } from "./fuzz.ts";

/** Pieces that readers of text often get wrong. */
const CHARACTERS = " \t\n\u0000\u007f\ud800\u00ad\udc00\u{1f600}\u202e\ufeffßİ09-./\\%@:?#=,;+";
const PIECES = [...Array.from(CHARACTERS), "//", "%00", "%2f", "~1", "__proto__", "e9", "🏳️‍🌈"];
const piece = weighted(
  [4, fc.constantFrom(...PIECES)],
  [1, fc.nat(255).map((code) => String.fromCharCode(code))],
);

type Change = (head: string, tail: string, piece: string, times: number) => string;
const CHANGES: readonly Change[] = [
  (head) => head,
  (_head, tail) => tail,
  (head, tail) => head + tail.slice(1),
  (head, tail, inserted) => head + inserted + tail,
  (head, tail, inserted) => head + inserted + tail.slice(1),
  (head, tail) => head + head + tail,
  (head, tail) => (head + tail).toUpperCase(),
  (head, tail, inserted) => head + tail + inserted,
  (head, tail, inserted) => inserted + head + tail,
  (head, tail, _piece, times) => head + tail + tail.slice(-1).repeat(times),
];

/** Generator of one change of a text at any place. */
export const textChange: fc.Arbitrary<(text: string) => string> = fc
  .tuple(fc.constantFrom(...CHANGES), fc.nat(), piece, fc.constantFrom(1, 64, 256, 2048))
  .map(([change, position, inserted, times]) => (text) => {
    const at = position % (text.length + 1);
    return change(text.slice(0, at), text.slice(at), inserted, times);
  });

export function changedText(text: string | fc.Arbitrary<string>, max = 3): fc.Arbitrary<string> {
  return changed(typeof text === "string" ? fc.constant(text) : text, textChange, max);
}

/** Returns `text` without the characters that a header cannot contain. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/gu, "");
}
