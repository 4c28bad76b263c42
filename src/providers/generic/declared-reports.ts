import type { RefusalClass } from "../../core/record/refusal.ts";
import { isHttpUrl } from "../../core/url.ts";
import type { UpstreamError } from "../failure.ts";
import {
  booleanAt,
  idAt,
  integerAt,
  isoMsOf,
  numberAt,
  percentAt,
  seedAt,
  textAt,
} from "../json-fields.ts";
import type { Metadata, Observation } from "../observation.ts";
import { isLink, isNoOutputByKind, outputTexts } from "../output-search.ts";
import { type Phase, phaseOf, spelling } from "../phase.ts";
import { unlinkedOutputIn } from "../unlinked-output.ts";
import type { Amounts } from "../usage.ts";
import { namesJob, pathFor, pathFrom } from "./call-template.ts";
import {
  type Declaration,
  type DeclaredOutput,
  type DeclaredPoll,
  HTTP_STATUS,
  type WordMeaning,
} from "./declaration.ts";
import { endIn, errorIn } from "./declared-ends.ts";
import { declaredRefusal } from "./declared-refusal.ts";
import { findAll, findFirst } from "./json-pointer.ts";

/**
 * Declared pointers to the state, the outputs, the error and further values of a report on a job. They are the members
 * of `poll` in the declaration. For a hook, members of `hook` replace those of `poll`.
 */
export type ReportPlaces = Pick<
  DeclaredPoll,
  | "id"
  | "state"
  | "ends"
  | "outputs"
  | "outputs_in"
  | "error"
  | "progress"
  | "usage"
  | "metadata"
  | "completed_at"
> & {
  /** Meaning of a report that states no state. Absent or null when such a report means nothing. */
  readonly otherwise?: WordMeaning | null | undefined;
};

/** A report on a job as it was received, with what is needed to read it. */
export interface GivenReport {
  readonly body: unknown;
  /** HTTP status of the answer that is the report; null for a hook. */
  readonly status: number | null;
  /** Id of the job; null when it is not known. */
  readonly jobId: string | null;
  readonly baseUrl: string;
}

/** State of a job as a report states it, and its meaning. */
export interface ReadState {
  /** The word for the state as the upstream spells it. Null when the report states no state. */
  readonly word: string | null;
  /** Meaning of the word; null when neither the declaration nor the relay knows the word. */
  readonly meaning: WordMeaning | null;
}

/** Links to outputs that were found in a report. */
export interface ReadOutputs {
  /** All links to outputs. Those at the pointers that the declaration names come first. */
  readonly urls: readonly string[];
  /**
   * Links to outputs on the host of the connection that can be opened only with the key of the connection. They are
   * among `urls`.
   */
  readonly keyedUrls: readonly string[];
}

/**
 * Pattern of an absolute path, which begins with a slash. It does not match a JPEG in base64, which begins with a slash
 * too (`/9j/`).
 */
const PATH = /^\/(?!\/|9j\/)/;
/** Pattern of the relative path of a file whose extension is one of media, models, texts or archives. */
const FILE_PATH =
  /^(?![A-Za-z][A-Za-z+.-]*:)(?:(?<folder>[^\s/\\][^\n\\]{0,500})\/)?(?<name>[^\n/\\]{1,200}\.(?:3ds|aac|apng|avif|avi|bmp|dae|exr|fbx|flac|gif|glb|gltf|hdr|jpe?g|json|k?splat|latent|m4a|m4v|mkv|mov|mp3|mp4|obj|ogg|opus|pdf|ply|png|psd|spz|srt|stl|svg|tga|tiff?|txt|usd[az]?|vtt|wav|webm|webp|zip))$/i;
const FIRST_MS = 100_000_000_000;

/**
 * Returns a report on a job in the relay's own form. Null when the report states neither the id nor the state of a job.
 */
export function readReport(
  report: GivenReport,
  places: ReportPlaces,
  declaration: Declaration,
): Observation | null {
  const jobId = jobIdIn(report, places);
  const outputs = placesOfOutputs(report, places);
  const { urls, keyedUrls } = outputsIn(report, outputs, declaration);
  const end = endIn(report, places, jobId);
  // Where answers name the job, one that does not is about something else.
  const isOther = places.id != null && jobId === null;
  const stated = stateIn(report, isOther ? { ...places, otherwise: null } : places, declaration);
  // Without a state, only a link at a declared place says that the job has succeeded.
  const declared = places.outputs_in == null ? { outputs: outputs.outputs } : outputs;
  const atPlaces = outputsIn(report, declared, declaration);
  const { word, meaning } = end ?? withOutput(stated, atPlaces, report.body, jobId);
  if (jobId === null && word === null && meaning === null) return null;
  // A report with the error of a submission may have any HTTP status.
  const refusal = declaredRefusal(declaration.submit, 400, report.body);
  return {
    jobId,
    state: word,
    phase: meaning === null ? null : phaseOfMeaning(meaning),
    urls,
    keyedUrls,
    metadata: metadataIn(report, places),
    completedAt: completedAtIn(report, places),
    error: withRefusal(errorIn(report, places.error, meaning, end?.pointer ?? null), refusal),
    progress: progressIn(report, places),
    usage: usageIn(report, places),
  };
}

function withRefusal(
  error: UpstreamError | null,
  refusal: RefusalClass | null,
): UpstreamError | null {
  return refusal === null ? error : { code: null, text: null, ...error, refusal };
}

/**
 * Returns the state of the job in a report, with one addition: a job whose report states no state but has an output has
 * succeeded, whatever the declaration says about answers without a state.
 */
function withOutput(
  state: ReadState,
  outputs: ReadOutputs,
  body: unknown,
  jobId: string | null,
): ReadState {
  if (state.word !== null || !hasOutput(outputs, body, jobId)) return state;
  return { word: null, meaning: "completed" };
}

/** Tells whether a report has an output: a link, a file or text. Text counts only in a report that names its job. */
function hasOutput({ urls }: ReadOutputs, body: unknown, jobId: string | null): boolean {
  if (urls.length > 0) return true;
  const { files, isText } = unlinkedOutputIn(body);
  return files.length > 0 || (isText && jobId !== null);
}

/**
 * Returns the phase of a job whose state has this meaning in the declaration; moderated and canceled count as failed.
 */
export function phaseOfMeaning(meaning: WordMeaning): Phase {
  return meaning === "moderated" || meaning === "canceled" ? "failed" : meaning;
}

/** Returns the id of the job that a report names. Null when it names none. */
export function jobIdIn({ body, jobId }: GivenReport, { id }: ReportPlaces): string | null {
  return idAt(findFirst(body, id ?? [], jobId)[0]);
}

/**
 * Returns the state of the job in a report. If a report has several states, e.g. one for each image, the first of these
 * that occurs counts: an unknown word, queued, processing, completed, any other.
 */
export function stateIn(
  report: GivenReport,
  { state, otherwise }: Pick<ReportPlaces, "state" | "otherwise">,
  declaration: Declaration,
): ReadState {
  const words = state === HTTP_STATUS ? statusWords(report) : wordsAt(report, state);
  if (words.length === 0) {
    const isReport = typeof report.body === "object" && report.body !== null;
    return { word: null, meaning: (isReport ? otherwise : null) ?? null };
  }
  const states = words.map((word) => ({ word, meaning: meaningOf(word, declaration) }));
  const first = states.find(({ meaning }) => meaning === null);
  if (first !== undefined) return first;
  for (const phase of ["queued", "processing", "completed"] as const) {
    const found = states.find(({ meaning }) => meaning === phase);
    if (found !== undefined) return found;
  }
  return states[0] ?? { word: null, meaning: null };
}

function statusWords({ status }: GivenReport): readonly string[] {
  return status === null ? [] : [String(status)];
}

function wordsAt({ body, jobId }: GivenReport, pointers: readonly string[]): readonly string[] {
  const words = findFirst(body, pointers, jobId).flatMap((value) => {
    if (typeof value === "number" || typeof value === "boolean") return [String(value)];
    return typeof value === "string" && value !== "" ? [value] : [];
  });
  return [...new Set(words)];
}

/**
 * Returns the meaning of a word for a state: the one that the declaration gives or, if it does not list the word, the
 * one that the relay knows. Null when neither has the word.
 */
function meaningOf(word: string, { words, poll }: Declaration): WordMeaning | null {
  const declared = Object.entries(words ?? {}).find(([each]) => spelling(each) === spelling(word));
  if (declared !== undefined) return declared[1];
  return poll.state === HTTP_STATUS ? null : phaseOf(word);
}

/**
 * Returns the links to outputs in a report, each once. Those at the declared pointers come first, followed by all other
 * links in the declared part of the report.
 * @param part the part of the report that contains outputs; undefined when there is none.
 */
export function outputsIn(
  { body, jobId, baseUrl }: GivenReport,
  { outputs, part }: { readonly outputs: readonly DeclaredOutput[]; readonly part?: unknown },
  { outputs_need_key: areKeyed, poll }: Declaration,
): ReadOutputs {
  const found = outputs.flatMap((output) => valuesOf(output, body, jobId, baseUrl));
  const main = found.map(({ value }) => value);
  const texts = outputTexts({ main, part }, isLinkOrPath);
  // No path can contain an id with half of a character.
  const isOfJob = jobId?.isWellFormed() === true && poll.path !== null && namesJob(poll.path);
  const ofJob = isOfJob ? `${baseUrl}${pathFor(poll.path, jobId)}` : null;
  const links = texts.flatMap(({ text, isMain }) => {
    const link = linkOf(text, baseUrl);
    return link === null || (!isMain && isCall(link, ofJob)) ? [] : link;
  });
  const own = URL.parse(baseUrl)?.origin;
  const isKeyed = (link: string) => areKeyed === true && URL.parse(link)?.origin === own;
  const urls = [...new Set(links)];
  return { urls, keyedUrls: urls.filter(isKeyed) };
}

/**
 * Returns the parts of a report in which outputs are looked for: the values at the declared pointers, and the declared
 * part of the report or, without one, the whole report.
 */
function placesOfOutputs(
  { body, jobId }: GivenReport,
  { outputs, outputs_in: parts }: Pick<ReportPlaces, "outputs" | "outputs_in">,
) {
  return { outputs: outputs ?? [], part: parts == null ? body : findFirst(body, parts, jobId) };
}

/**
 * Tells whether a link does not lead to an output but to the job at the upstream, or to a call about the job, e.g. one
 * that cancels it.
 */
function isCall(link: string, ofJob: string | null): boolean {
  return ofJob !== null && (link === ofJob || link.startsWith(`${ofJob}/`));
}

/**
 * Returns the values at one pointer that the declaration names for outputs. When the declaration has a template for
 * links, the values are links that the template forms from the members of the objects there.
 */
export function valuesOf(
  output: DeclaredOutput,
  body: unknown,
  jobId: string | null,
  baseUrl: string,
) {
  if (typeof output === "string") return findAll(body, output, jobId);
  const found = findAll(body, output.at, jobId);
  const linked = (pathOf: (value: unknown) => string | null) =>
    found.flatMap(({ pointer, value }) => {
      const path = pathOf(value);
      return path === null ? [] : [{ pointer, value: `${baseUrl}${path}` }];
    });
  const links = linked((value) => (isNoOutputByKind(value) ? null : pathFrom(output.url, value)));
  const { path_url: template } = output;
  // Beside objects, a text may be a note, e.g. the name of the file that was loaded.
  if (links.length > 0 || template == null) return links;
  return linked((value) => pathFrom(template, filePathIn(value)));
}

/** Returns the folder and the name of a file from its relative path. Null when the value is not such a path. */
function filePathIn(value: unknown) {
  if (typeof value !== "string") return null;
  const { folder = "", name } = FILE_PATH.exec(value)?.groups ?? {};
  return name === undefined || /(?:^|\/)\.{1,2}(?:\/|$)/.test(folder) ? null : { folder, name };
}

/**
 * Returns a link as an absolute URL: an http(s) URL as it is, a path with the host of the connection. Null when no URL
 * can be made of the path.
 */
function linkOf(text: string, baseUrl: string): string | null {
  return isHttpUrl(text) ? text : (URL.parse(text, baseUrl)?.href ?? null);
}

/**
 * Tells whether a text is a link. If the text is at a pointer that the declaration names for outputs, a path on the
 * host of the connection counts as a link too, but not a file in base64.
 */
function isLinkOrPath(text: string, isPlace: boolean): boolean {
  return isLink(text) || (isPlace && PATH.test(text));
}

function progressIn({ body, jobId }: GivenReport, { progress }: ReportPlaces): number | null {
  if (progress == null) return null;
  const places = "full" in progress ? progress.at : progress;
  const full = "full" in progress ? progress.full : 100;
  const value = percentAt(findFirst(body, places, jobId)[0]);
  return value === null ? null : (100 * value) / full;
}

function usageIn({ body, jobId }: GivenReport, { usage }: ReportPlaces): Amounts {
  return Object.fromEntries(
    Object.entries(usage ?? {}).map(([name, pointers]) => [
      name,
      numberAt(findFirst(body, pointers, jobId)[0]),
    ]),
  );
}

function metadataIn({ body, jobId }: GivenReport, { metadata }: ReportPlaces): Metadata {
  const value = (name: string) => findFirst(body, metadata?.[name] ?? [], jobId)[0];
  return {
    seed: seedAt(value("seed")),
    ratio: textAt(value("ratio")),
    duration: integerAt(value("duration")),
    resolution: textAt(value("resolution")),
    generate_audio: booleanAt(value("generate_audio")),
    framespersecond: integerAt(value("framespersecond")),
  };
}

/**
 * Returns the pointer to the time at which a job ended, and the zone of a time that states none. Null when the
 * declaration names no such pointer.
 */
export function endPlaces({ completed_at: place }: Pick<ReportPlaces, "completed_at">) {
  const { at, zone = null } = place != null && "zone" in place ? place : { at: place ?? [] };
  return { at, zone };
}

/**
 * Returns, in Unix milliseconds, the time at which the job ended. A report can state it in ISO 8601, in Unix seconds or
 * in Unix milliseconds. Null when it states none.
 */
function completedAtIn({ body, jobId }: GivenReport, places: ReportPlaces): number | null {
  const { at, zone } = endPlaces(places);
  return timeOf(findFirst(body, at, jobId)[0], zone);
}

/**
 * Converts a time that an upstream has written as a text or a number to Unix milliseconds. Null for any other value.
 * @param zone time zone of a time that states none; null when it is not known.
 */
export function timeOf(value: unknown, zone: string | null): number | null {
  const iso = isoMsOf(textAt(value) ?? "", zone);
  if (iso !== null) return iso;
  const number = numberAt(value);
  if (number === null || number <= 0) return null;
  return number < FIRST_MS ? number * 1_000 : number;
}
