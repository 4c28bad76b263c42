import { masked } from "./report.ts";
import { numberAt } from "../../src/providers/json-fields.ts";
import {
  type Declaration,
  type DeclaredOutput,
  HTTP_STATUS,
} from "../../src/providers/generic/declaration.ts";
import { endIn, errorPlaces } from "../../src/providers/generic/declared-ends.ts";
import {
  endPlaces,
  type GivenReport,
  jobIdIn,
  outputsIn,
  readReport,
  stateIn,
  timeOf,
  valuesOf,
} from "../../src/providers/generic/declared-reports.ts";
import { findFirst } from "../../src/providers/generic/json-pointer.ts";
import { unlinkedOutputIn } from "../../src/providers/unlinked-output.ts";

/** One member of a declaration, and what it makes of a report. */
export interface ExaminedMember {
  /** The member, e.g. `poll.state`. */
  readonly member: string;
  /** Where it looks, as the declaration has it. */
  readonly pointer: string;
  /** What it has found, in words. Null when it has found nothing. */
  readonly found: string | null;
}

/**
 * Returns, for each member of a declaration that reads answers to polls, what it finds in an answer. It is for people who
 * write a declaration.
 */
export function examinePoll(
  report: GivenReport,
  declaration: Declaration,
): readonly ExaminedMember[] {
  const { poll } = declaration;
  return [
    ...(poll.id == null ? [] : [member("poll.id", poll.id, jobIdIn(report, poll))]),
    stateMember(report, declaration),
    ...endMembers(report, declaration),
    ...(poll.outputs ?? []).map((output, i) => outputMember(output, i, report, declaration)),
    ...errorMembers(report, declaration),
    ...progressMember(report, declaration),
    ...Object.entries(poll.usage ?? {}).map(([name, pointers]) => {
      const value = numberAt(findFirst(report.body, pointers, report.jobId)[0]);
      return member(`poll.usage.${name}`, pointers, value === null ? null : String(value));
    }),
    ...Object.entries(poll.metadata ?? {}).flatMap(([name, pointers]) =>
      pointers == null ? [] : [valueMember(`poll.metadata.${name}`, pointers, report)],
    ),
    ...(poll.completed_at == null ? [] : [endMember(report, declaration)]),
  ];
}

function member(name: string, pointers: readonly string[], found: string | null): ExaminedMember {
  return { member: name, pointer: pointers.join(" or "), found };
}

function valueMember(
  name: string,
  pointers: readonly string[],
  { body, jobId }: GivenReport,
): ExaminedMember {
  const [value] = findFirst(body, pointers, jobId);
  return member(name, pointers, value === undefined ? null : JSON.stringify(value));
}

/** Returns what the declaration finds as the time at which the job ended, and whether the relay can read it. */
function endMember(report: GivenReport, { poll }: Declaration): ExaminedMember {
  const { at, zone } = endPlaces(poll);
  const { found, ...place } = valueMember("poll.completed_at", at, report);
  const time = timeOf(findFirst(report.body, at, report.jobId)[0], zone);
  const fault = ", which is no time with a zone: declare the zone, e.g. +08:00, beside the place";
  return { ...place, found: found !== null && time === null ? found + fault : found };
}

function stateMember(report: GivenReport, declaration: Declaration): ExaminedMember {
  const { state, otherwise } = declaration.poll;
  const { word, meaning } = stateIn(report, declaration.poll, declaration);
  const pointers = state === HTTP_STATUS ? [state] : state;
  if (word === null) {
    const found = otherwise == null || meaning === null ? null : `nothing, which means ${meaning}`;
    return member("poll.state", pointers, found);
  }
  const means = meaning ?? "unknown: add the word to words";
  return member("poll.state", pointers, `${word}, which means ${means}`);
}

function outputMember(
  output: DeclaredOutput,
  index: number,
  report: GivenReport,
  declaration: Declaration,
): ExaminedMember {
  const { body, jobId, baseUrl } = report;
  const place = typeof output === "string" ? output : output.at;
  const { urls, keyedUrls } = outputsIn(report, { outputs: [output] }, declaration);
  const values = valuesOf(output, body, jobId, baseUrl);
  const { files } = unlinkedOutputIn(body);
  const inline = values.filter(({ pointer }) => files.includes(pointer));
  const parts = [
    ...(urls.length > 0 ? [`links: ${urls.length}`] : []),
    ...(keyedUrls.length > 0 ? [`links that need the key: ${keyedUrls.length}`] : []),
    ...(inline.length > 0 ? [`files in base64: ${inline.length}`] : []),
  ];
  const other = values.length > 0 ? `no link, but other values: ${values.length}` : null;
  return member(`poll.outputs.${index}`, [place], parts.length > 0 ? parts.join(", ") : other);
}

function endMembers(report: GivenReport, { poll }: Declaration): readonly ExaminedMember[] {
  if (poll.ends == null) return [];
  const end = endIn(report, poll, jobIdIn(report, poll));
  const found = end === null ? null : `${end.word ?? "a value"} at ${end.pointer}: ${end.meaning}`;
  return [member("poll.ends", Object.keys(poll.ends), found)];
}

function errorMembers(report: GivenReport, { poll }: Declaration): readonly ExaminedMember[] {
  if (poll.error == null) return [];
  const { code, message, retryable } = errorPlaces(poll.error);
  return [
    ...(code.length > 0 ? [valueMember("poll.error.code", code, report)] : []),
    ...(message.length > 0 ? [valueMember("poll.error", message, report)] : []),
    ...(retryable.length > 0 ? [valueMember("poll.error.retryable", retryable, report)] : []),
  ];
}

function progressMember(report: GivenReport, declaration: Declaration): readonly ExaminedMember[] {
  const { progress } = declaration.poll;
  if (progress == null) return [];
  const places = "full" in progress ? progress.at : progress;
  const percent = readReport(report, declaration.poll, declaration)?.progress ?? null;
  return [member("poll.progress", places, percent === null ? null : `${percent} %`)];
}

/** Returns the members as lines, each with what it has found, or with where it has found nothing. */
export function examinationLines(
  members: readonly ExaminedMember[],
  secrets: readonly string[],
): readonly string[] {
  const width = Math.max(...members.map(({ member: name }) => name.length));
  return [
    "",
    "What the declaration makes of the answer:",
    ...members.map(
      ({ member: name, pointer, found }) =>
        `${name.padEnd(width)}  ${found === null ? `not found at ${pointer}` : masked(found, secrets)}`,
    ),
  ];
}
