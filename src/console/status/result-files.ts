import type { TaskStatus } from "../../api/shapes/task-shape.ts";
import { DOWNLOAD } from "../../api/outputs/read-output.ts";
import { isShownInline, typeOfExtension } from "../../core/output-metadata/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import { extensionOf } from "../../security/output-link.ts";
import { fileAt, type LinkEnd, shownLinks } from "../task/links.tsx";

/** Kind of a file, which decides how a page shows it and what it calls it. */
export type FileKind = "image" | "video" | "audio" | "file";

/**
 * Where a file of a result is:
 * - `here`: the relay sends it.
 * - `copying`: the relay is making its copy, and leads to the upstream's own link in the meantime.
 * - `unsure`: the relay could not make a copy, and leads to the upstream's own link for as long as that works.
 * - `elsewhere`: the result has the upstream's own link.
 * - `gone`: it has expired, or was deleted, or the upstream's own link has expired.
 */
export type FilePlace = "here" | "copying" | "unsure" | "elsewhere" | "gone";

/** A file of a result, as the page of a status link shows it. */
export interface ResultFile {
  readonly kind: FileKind;
  readonly place: FilePlace;
  /** Media type of the file: by its first bytes or, if the relay has no copy, by its link. Null when it is not known. */
  readonly type: string | null;
  /** Size in bytes; null when it is not known. */
  readonly bytes: number | null;
  /** Address from which the page shows the picture, video or sound. Null when the page cannot show it. */
  readonly mediaUrl: string | null;
  /** Address at which the reader gets the file. Null when there is none that a browser may open. */
  readonly url: string | null;
  /**
   * Time in Unix milliseconds until which the file can be had: at which the relay deletes its copy, or until which the
   * upstream's own link works according to its documentation. Null when it is not known.
   */
  readonly endsAt: number | null;
}

/** Facts that decide, together with a link, how the page shows its file. */
interface Surroundings {
  /** Origin of the relay's links to outputs at present; null when it has none. */
  readonly outputsOrigin: string | null;
  /** Origin of the page, as its reader sees it. */
  readonly pageOrigin: string;
  /** Time until which the upstream's own links work; null when it is not known. */
  readonly linkEnd: LinkEnd | null;
  readonly now: number;
}

/** State of the relay's copy of an output. */
type Copy = NonNullable<TaskStatus["outputs"]>[number];

/** Returns the files of a result, of a large result only the first ones; none while a task has no result. */
export function resultFiles(
  { output, outputs }: Pick<TaskStatus, "output" | "outputs">,
  around: Surroundings,
): readonly ResultFile[] {
  const links = shownLinks(output?.urls ?? []);
  return links.map((link, index) => fileOf(link, outputs?.[index], around));
}

function fileOf(link: string, copy: Copy | undefined, around: Surroundings): ResultFile {
  const place = placeOf(copy, around);
  const type = copy?.content_type ?? typeOfExtension(extensionOf(link));
  const { bytes = null } = copy ?? {};
  const end = endOf(copy, place, around);
  const endsAt = end === undefined || end <= around.now ? null : end;
  return { kind: kindOf(type), place, type, bytes, ...addressesOf(link, place, around), endsAt };
}

/** Returns the time until which a file can be had. Without a copy, the end of the relay's link says nothing of the file. */
function endOf(copy: Copy | undefined, place: FilePlace, { linkEnd }: Surroundings) {
  if (place === "unsure") return undefined;
  return copy?.expires_at === undefined ? linkEnd?.at : copy.expires_at * SECOND_MS;
}

function placeOf(copy: Copy | undefined, { linkEnd, now }: Surroundings): FilePlace {
  if (copy === undefined || copy.reason === "own_link") {
    const hasEnded = linkEnd !== null && !linkEnd.isLeast && linkEnd.at <= now;
    return hasEnded ? "gone" : "elsewhere";
  }
  const isOver = copy.expires_at !== undefined && copy.expires_at * SECOND_MS <= now;
  if (isOver || copy.reason === "deleted") return "gone";
  if (copy.kept || copy.reason === "streamed") return "here";
  return copy.reason === undefined ? "copying" : "unsure";
}

function kindOf(type: string | null): FileKind {
  const [kind = "file"] = type === null ? [] : type.split("/");
  if (kind === "video" || kind === "audio") return kind;
  return kind === "image" && type !== null && isShownInline(type) ? "image" : "file";
}

/** Returns where the page shows a file, and where a reader gets it: from the relay it is saved without being shown. */
function addressesOf(
  link: string,
  place: FilePlace,
  { outputsOrigin, pageOrigin }: Surroundings,
): Pick<ResultFile, "mediaUrl" | "url"> {
  const address = place === "elsewhere" ? link : (fileAt(outputsOrigin, link) ?? link);
  const url = URL.parse(address);
  if (place === "gone" || url === null || !/^https?:$/.test(url.protocol)) {
    return { mediaUrl: null, url: null };
  }
  if (place === "elsewhere")
    return { mediaUrl: canLoad(url, pageOrigin) ? url.href : null, url: url.href };
  const saving = new URL(url);
  saving.search = DOWNLOAD;
  const isShown = place === "here" && canLoad(url, pageOrigin);
  return { mediaUrl: isShown ? url.href : null, url: saving.href };
}

/** Tells whether a page can load a picture, video or sound from an address. Browsers load none over http into https. */
function canLoad({ protocol, username }: URL, pageOrigin: string): boolean {
  return username === "" && (protocol === "https:" || !isSecure(pageOrigin));
}

/** Tells whether a page was opened by https. */
export function isSecure(pageOrigin: string): boolean {
  return pageOrigin.startsWith("https:");
}

const NAMES: Readonly<Record<FileKind, readonly [one: string, several: string]>> = {
  image: ["picture", "pictures"],
  video: ["video", "videos"],
  audio: ["audio file", "audio files"],
  file: ["file", "files"],
};

/** Returns what readers call a file, e.g. `picture`. */
export function nameOf({ kind }: Pick<ResultFile, "kind">): string {
  return NAMES[kind][0];
}

/**
 * Returns what readers call the files of a result, e.g. `video` or `3 pictures`.
 * @param count number of all files, of which `files` are the first.
 */
export function namesOf(files: readonly ResultFile[], count: number): string {
  const [first, ...others] = new Set(files.map(({ kind }) => kind));
  const [one, several] = NAMES[first === undefined || others.length > 0 ? "file" : first];
  return count === 1 ? one : `${count} ${several}`;
}
