import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const PAGE = read("docs/operate.md");
// Another test compares its table of operator events with the code.
const INDEX_PAGE = read("docs/index.md");
const SOURCES = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).map(read).join("\n");

/** Lines of the page that name the signals of one fault, by the kind of signal. */
const SEEN = [...PAGE.matchAll(/^\*\*Seen as:\*\* (.*)\.$/gm)].flatMap(([, line = ""]) =>
  line.split("; ").map((part) => ({ kind: part.split(" ")[0], names: quoted(part) })),
);
const INFO = quoted(PAGE.split("### Lines that need nothing")[1]?.split("\n## ")[0] ?? "");

function quoted(text: string): string[] {
  return [...text.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name);
}

function seenAs(kind: string): string[] {
  return SEEN.flatMap((seen) => (seen.kind === kind ? seen.names : [])).toSorted();
}

const all = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, name = ""]) => name).toSorted();

it.each([
  ["alert of Prometheus", "alert", all(read("ops/alerts.yml"), /- alert: (\w+)/g)],
  [
    "type of operator event",
    "event",
    all(INDEX_PAGE.split("## Operator events")[1] ?? "", /^\| `([\w.]+)` \|/gm),
  ],
  [
    "type of problem of GET /v1/problems",
    "problem",
    all(/^const RULES = \{$([^]*?)^\}/m.exec(SOURCES)?.[1] ?? "", /^ {2}(\w+)/gm),
  ],
])(
  "each %s is among the signs of exactly one of the faults that docs/operate.md describes",
  (_, kind, names) => {
    expect(names.length).toBeGreaterThan(5);
    expect(seenAs(kind)).toEqual(names.toSorted());
  },
);

it("each event name of the log, and no other, is in docs/operate.md, among the signs of a fault or the lines that need no action", () => {
  const literal = all(SOURCES, /\bevent: "([a-z_]+\.[a-z_]+)"/g);
  const ofCron = all(SOURCES, /\bname: "(\w+)",\s+maxMs:/g).map((part) => `index.${part}`);
  const dynamic = ["hook.refused", "hook.ignored", ...ofCron];
  expect(ofCron).toContain("index.overdue");
  const logged = new Set([...literal, ...dynamic]);
  const documented = new Set([...seenAs("log"), ...INFO.filter((name) => name.includes("."))]);
  expect(documented).toEqual(logged);
  const faults = seenAs("log");
  expect(faults).toEqual([...new Set(faults)]);
});

it("docs/operate.md explains each reason that the relay states when it answers 503 because a Durable Object cannot be reached", () => {
  const failures = read("src/api/http/object-failure.ts");
  const reasons = [
    ...all(failures, /^ {2}\[.*, "(\w+)"\],$/gm),
    ...quoted((/FLAGS = \[(.*)\]/.exec(failures)?.[1] ?? "").replaceAll('"', "`")),
    "unknown",
  ];
  const rows = all(PAGE, /^\| ((?:`\w+`(?:, )?)+) \|/gm).flatMap(quoted);
  expect(rows).toEqual(expect.arrayContaining(reasons));
  expect(reasons.length).toBeGreaterThan(10);
});
