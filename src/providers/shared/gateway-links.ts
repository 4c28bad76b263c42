import { isHttpUrl } from "../../core/url.ts";
import type { Observation } from "../observation.ts";
import { type FoundText, isLink, type OutputPlaces, outputTexts } from "../output-search.ts";

/** Two patterns. A path that matches both is that of a file which a gateway serves only with the gateway's API key. */
const CONTENT_PATH = [/\/v1\/(?:videos|video\/generations|tasks)\//, /\/content\/?$/];
/** Pattern of the names of query parameters that make a link work without an API key, e.g. a signature. */
const ACCESS = /access|token|signature|^sig$/i;
/** Hosts whose files can be opened only with a key of the gateway's own upstream, which the relay does not have. */
const FOREIGN_KEYS: readonly string[] = ["generativelanguage.googleapis.com"];
/** Pattern of the names of members, and of the ends of paths, which show that a link leads to a video. */
const VIDEO_NAME = /video/i;
const VIDEO_PATH = /\.(?:m4v|mkv|mov|mp4|webm)$/i;
/** Pattern of the ends of paths to files that are no videos. */
const OTHER_PATH = /\.(?:avif|gif|glb|jpe?g|json|m4a|mp3|png|txt|wav|webp|zip)$/i;

/**
 * Name of the member for the id of the video that was remixed. Some gateways (Agnes) formerly wrote the link to the
 * output only into this member; now they write it into the right one too.
 */
const FORMER_NAME = "remixed_from_video_id";

/** Pattern of the paths of files that are videos. */
const VIDEO_CONTENT = /\/v1\/(?:videos|video\/generations)\//;
/**
 * Patterns of the ends of paths (`PICTURE_PATH`) and of the names of members which show that a link leads to a picture.
 */
const PICTURE_PATH = /\.(?:avif|gif|jpe?g|png|webp)$/i;
const PICTURE_NAME = /cover|frame|image|picture|poster|preview|thumb/i;

/** The job for whose outputs an answer is searched, and the gateway that has sent the answer. */
export interface GatewayJob {
  /** Id of the job; null when it is not known. */
  readonly id: string | null;
  /** Base URL of the gateway; null when it is not known, e.g. for a hook. */
  readonly baseUrl: string | null;
}

/** The parts of a gateway's answer that are searched for the outputs of a job. */
export interface GatewayPlaces extends OutputPlaces {
  /**
   * Answer of the gateway's own upstream inside that of the gateway. If the gateway has a link to a video, the first
   * video in the inner answer is the same file. Absent when there is no inner answer.
   */
  readonly inner?: unknown;
}

/** Links to the outputs of a job, in those fields that an `Observation` has for links. */
export type GatewayOutputs = Pick<Observation, "urls" | "areOpenUrlsPictures"> &
  Required<Pick<Observation, "keyedUrls" | "contentUrl">>;

/** A link to an output in an answer, with the facts that decide whether the link is returned. */
interface Output {
  readonly link: string;
  readonly isKeyed: boolean;
  /**
   * True when the link may lead to the main output. If the same answer also has the content path (the gateway's own
   * path with the output), both lead to the same file.
   */
  readonly canBeMain: boolean;
  readonly isPicture: boolean;
  /** True when the link is in the member that some gateways formerly used for the main output. */
  readonly isAtFormerPlace: boolean;
}

/**
 * Returns the links to the outputs in an answer of a gateway: http(s) URLs, and paths on the gateway in members that
 * are documented for links. In these rules, the content path is the gateway's own path with the output of a job:
 * - A link to the content path of this job at another origin, e.g. at the gateway's public name, is replaced by the
 *   content path on the gateway.
 * - When the answer has no link, the poll asks at the content path.
 * - Content paths of other jobs at other origins are left out, because the relay has no key for them.
 * - A content path is left out beside another link to the video.
 * - A link in the member that gateways formerly used for the main output counts only when no other link can be that
 *   output.
 */
export function gatewayOutputs(places: GatewayPlaces, job: GatewayJob): GatewayOutputs {
  const texts = outputTexts(places, (text, isPlace) => isLink(text) || isPath(text, isPlace, job));
  const repeated = repeatedVideo(texts, places.inner);
  const all = texts.flatMap((found) =>
    found.text === repeated && !found.isMain ? [] : (outputOf(found, job) ?? []),
  );
  const main = all.filter(({ isKeyed, canBeMain }) => !isKeyed && canBeMain);
  const hasPresentMain = main.some(({ isAtFormerPlace }) => !isAtFormerPlace);
  const counted = all.filter(
    ({ isKeyed, isAtFormerPlace }) =>
      !(isKeyed && main.length > 0) && !(isAtFormerPlace && hasPresentMain),
  );
  const keyedUrls = linksOf(counted.filter(({ isKeyed }) => isKeyed));
  const urls = linksOf(counted);
  const outputs = { urls, keyedUrls, contentUrl: keyedUrls[0] ?? contentUrlOf(job) };
  return haveOnlyPictures(counted) ? { ...outputs, areOpenUrlsPictures: true } : outputs;
}

/** Tells whether the outputs are a video, which can be opened only with the key, and otherwise only pictures. */
function haveOnlyPictures(outputs: readonly Output[]): boolean {
  const open = outputs.filter(({ isKeyed }) => !isKeyed);
  const hasVideo = outputs.some(({ isKeyed, link }) => isKeyed && VIDEO_CONTENT.test(link));
  return hasVideo && open.length > 0 && open.every((output) => output.isPicture);
}

/**
 * Returns those values of an answer that are links which a client can open. Paths on the gateway at `baseUrl` count as
 * links.
 */
export function openLinks(values: readonly unknown[], baseUrl: string | null): readonly string[] {
  const { urls, keyedUrls } = gatewayOutputs({ main: values }, { id: null, baseUrl });
  return urls.filter((url) => !keyedUrls.includes(url));
}

/** Tells whether a link leads to a file that a gateway serves only with the gateway's API key. */
export function needsKey({ pathname, searchParams }: URL): boolean {
  if (!CONTENT_PATH.every((part) => part.test(pathname))) return false;
  return ![...searchParams.keys()].some((name) => ACCESS.test(name));
}

/**
 * Returns the first video in the answer of the gateway's own upstream, if the gateway itself has a link to the video
 * that needs no key: both links then lead to the same file. Null when there is no such video.
 */
function repeatedVideo(texts: readonly FoundText[], inner: unknown): string | null {
  const own = texts.find(({ text, isMain }) => isMain && isOpenVideo(text));
  if (own === undefined || inner === undefined) return null;
  const videos = outputTexts({ main: [], part: inner }, isLink).filter(isVideo);
  return videos[0]?.text ?? null;
}

/** Tells whether a gateway's link to the main output may lead to a video that can be opened without a key. */
function isOpenVideo(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && !needsKey(url) && !OTHER_PATH.test(url.pathname);
}

function isVideo({ text, name }: FoundText): boolean {
  return VIDEO_NAME.test(name) || VIDEO_PATH.test(URL.parse(text)?.pathname ?? "");
}

function isPicture({ name }: FoundText, { pathname }: URL): boolean {
  return PICTURE_PATH.test(pathname) || (PICTURE_NAME.test(name) && !OTHER_PATH.test(pathname));
}

function linksOf(outputs: readonly Output[]): readonly string[] {
  return [...new Set(outputs.map(({ link }) => link))];
}

/**
 * Tells whether a text is a path on the gateway. In a member that is documented for links any path counts; elsewhere
 * only the content path (the path with the output) of the job counts.
 */
function isPath(text: string, isPlace: boolean, { id, baseUrl }: GatewayJob): boolean {
  if (!/^\/(?!\/)/.test(text) || baseUrl === null) return false;
  const url = URL.parse(text, baseUrl);
  return url !== null && (isPlace || (needsKey(url) && namesJob(url, id)));
}

/**
 * Returns the output to which a link or path in an answer leads. Null when it leads to a file that the relay cannot
 * open.
 */
function outputOf(found: FoundText, job: GatewayJob): Output | null {
  const link = absolute(found.text, job.baseUrl);
  const url = URL.parse(link);
  if (url === null || FOREIGN_KEYS.includes(url.hostname)) return null;
  const canBeMain = found.isMain || isVideo(found);
  const isAtFormerPlace = found.name === FORMER_NAME;
  const kind = { canBeMain, isPicture: isPicture(found, url), isAtFormerPlace };
  if (!needsKey(url)) return { link, isKeyed: false, ...kind };
  const keyed = url.origin === originOf(job.baseUrl) ? link : ownLink(url, job);
  return keyed === null ? null : { link: keyed, isKeyed: true, ...kind };
}

/**
 * Returns an absolute URL: an http(s) URL unchanged, and a path as a URL on the gateway. Empty when no URL can be made
 * of the path.
 */
function absolute(text: string, baseUrl: string | null): string {
  return isHttpUrl(text) ? text : (URL.parse(text, originOf(baseUrl))?.href ?? "");
}

/**
 * Returns the link on the gateway that replaces a link to the job's content path (the path with the output) at another
 * origin. Null for any other link.
 */
function ownLink(url: URL, { id, baseUrl }: GatewayJob): string | null {
  if (baseUrl === null || !namesJob(url, id)) return null;
  const tail = url.pathname.slice(url.pathname.lastIndexOf("/v1/"));
  return `${baseUrl}${tail}${url.search}`;
}

function originOf(baseUrl: string | null): string | undefined {
  return URL.parse(baseUrl ?? "")?.origin;
}

/** Returns the link at which a gateway serves the file of a job. Null when the job or the gateway is not known. */
function contentUrlOf({ id, baseUrl }: GatewayJob): string | null {
  if (id === null || baseUrl === null || !id.isWellFormed()) return null;
  return `${baseUrl}/v1/videos/${encodeURIComponent(id)}/content`;
}

/** Tells whether a segment of a link's path is the id of the job. */
function namesJob({ pathname }: URL, id: string | null): boolean {
  if (id === null || !id.isWellFormed()) return false;
  return pathname
    .split("/")
    .some((segment) => segment === id || segment === encodeURIComponent(id));
}
