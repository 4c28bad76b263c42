import type { Task } from "../../api/shapes/task-shape.ts";
import { isShownInline } from "../../core/output-metadata/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Connection } from "../../providers/provider.ts";
import { sizeText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";

/** Largest number of links to outputs of a result that a page shows. */
const MAX_LINKS = 20;
/** Largest total number of characters of the links that a page shows. Each link is in the page twice. */
const MAX_LINK_CHARACTERS = 24_000;

/** State of the relay's copy of an output. */
type Copy = NonNullable<Task["outputs"]>[number];

/** Texts for the reasons why the relay has no copy of an output. */
const REASONS: Readonly<Record<NonNullable<Copy["reason"]>, string>> = {
  own_link: "is not kept: this is the upstream's own link",
  streamed: "is not kept: the relay passes on what the upstream sends",
  deleted: "was deleted",
  too_large: "is not kept: it is too large",
  empty: "is not kept: the upstream sent no bytes",
  refused: "is not kept: the upstream refused to send it",
  unreachable: "is not kept: the upstream did not send it",
  blocked: "is not kept: its link leads to where the relay must not fetch",
  not_stored: "is not kept: it could not be stored",
};

interface LinksProps {
  readonly task: Task;
  /** Time until which the upstream's own links to the outputs work; null when it is not known. */
  readonly links: LinkEnd | null;
  /** Origin whose pictures, videos and sounds the page may show; null when it may show none. */
  readonly outputsOrigin: string | null;
  readonly now: number;
}

/** Shows the links to the outputs of a result, with the pictures, videos and sounds of which the relay has copies. */
export function Links({ task, links, outputsOrigin, now }: LinksProps) {
  const { output, outputs, source_urls: sources } = task;
  if (output === undefined) return null;
  const shown = shownLinks(output.urls);
  const rest = output.urls.length - shown.length;
  return (
    <>
      <dt>Links</dt>
      <dd>
        {links === null || outputs !== undefined ? null : (
          <p class="small muted">
            {links.at > now ? (links.isLeast ? "work at least until" : "expire") : "have expired"}{" "}
            <Ago at={links.at} now={now} />, <Time at={links.at} />
          </p>
        )}
        <ul class="links">
          {shown.map((url, index) => (
            <li>
              <Link url={url} />
              <Kept
                copy={outputs?.[index]}
                file={fileAt(outputsOrigin, url)}
                number={index + 1}
                now={now}
              />
              <Source url={sources?.[index]} shown={url} />
            </li>
          ))}
        </ul>
        {rest > 0 ? <p class="small muted">and {rest} more, which the API returns</p> : null}
      </dd>
    </>
  );
}

function Link({ url }: { readonly url: string }) {
  if (!/^https?:\/\//i.test(url)) return <Hostile text={url} />;
  return (
    <a href={url} rel="noreferrer noopener">
      <Hostile text={url} />
    </a>
  );
}

/** The upstream's own link to an output for which the relay has made another link. Only operators see it. */
function Source({ url, shown }: { readonly url: string | undefined; readonly shown: string }) {
  if (url === undefined || url === shown) return null;
  return (
    <p class="small muted">
      upstream's own link: <Link url={url} />
    </p>
  );
}

interface KeptProps {
  readonly copy: Copy | undefined;
  /** Link to the copy at the present address of the relay; null when the page may not show the copy. */
  readonly file: string | null;
  readonly number: number;
  readonly now: number;
}

/** Shows the copy of an output: the picture, video or sound itself, or the reason why there is none. */
function Kept({ copy, file, number, now }: KeptProps) {
  if (copy === undefined) return null;
  const { kept, bytes, content_type: type = "", expires_at: endsAtS } = copy;
  const endsAt = endsAtS === undefined ? null : endsAtS * SECOND_MS;
  const isOver = endsAt !== null && endsAt <= now;
  if (!kept || isOver) {
    const reason = copy.reason === undefined ? "is being copied" : REASONS[copy.reason];
    return <p class="small muted">{isOver ? "has expired" : reason}</p>;
  }
  return (
    <>
      <p class="small muted">
        {type}
        {bytes === undefined ? null : `, ${sizeText(bytes)}`}
        {endsAt === null ? null : (
          <>
            , kept until <Time at={endsAt} />
          </>
        )}
      </p>
      <Preview type={type} url={file} label={`Output ${number}`} />
    </>
  );
}

interface PreviewProps {
  readonly type: string;
  /** Link to the file; null when the page may not show it. */
  readonly url: string | null;
  /** Words for the file, for readers who do not see it. */
  readonly label: string;
}

/** Shows a picture, video or sound. Shows nothing for a file that browsers save instead of showing it. */
export function Preview({ type, url, label }: PreviewProps) {
  if (url === null || !isShownInline(type)) return null;
  if (type.startsWith("image/")) return <img class="output" src={url} alt={label} loading="lazy" />;
  /* oxlint-disable jsx-a11y/media-has-caption -- nobody has written captions for what an upstream has generated */
  if (type.startsWith("audio/")) {
    return <audio class="output" src={url} aria-label={label} controls preload="metadata" />;
  }
  return (
    <video class="output" src={url} aria-label={label} controls playsinline preload="metadata" />
  );
}

/**
 * Returns a link of the relay to an output, changed to another origin. The stored link has the address that the relay
 * had when the result was recorded, but the output can be opened at every later address of the relay, too.
 * @returns null when `origin` is null.
 */
export function fileAt(origin: string | null, link: string): string | null {
  const url = URL.parse(link);
  return origin === null || url === null ? null : new URL(url.pathname, origin).href;
}

/** Returns the first links: at most `MAX_LINKS`, with at most `MAX_LINK_CHARACTERS` characters in total. */
export function shownLinks(urls: readonly string[]): readonly string[] {
  let characters = 0;
  return urls.slice(0, MAX_LINKS).filter((url) => {
    characters += url.length;
    return characters <= MAX_LINK_CHARACTERS;
  });
}

/** Time until which the links of a result work, in Unix milliseconds. */
export interface LinkEnd {
  readonly at: number;
  /**
   * True when the links may work longer than until `at`, because the provider's documentation states a shortest and a
   * longest time, or because the operator can set a longer time at the provider.
   */
  readonly isLeast: boolean;
}

/**
 * Returns the time until which the links of a job work, according to the provider's documentation.
 * @returns null when the documentation states no such time, or when each job states its own.
 */
export function linkEndOf(connection: Connection | undefined, endedAt: number): LinkEnd | null {
  const provider = connection?.provider;
  if (provider === undefined || !("linkLife" in provider)) return null;
  const { linkLife } = provider;
  if (linkLife === null || linkLife === "stated") return null;
  return { at: endedAt + linkLife.minMs, isLeast: linkLife.maxMs !== linkLife.minMs };
}
