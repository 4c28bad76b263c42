import { extensionOfType } from "../../core/output-metadata/media-type.ts";
import { sizeText } from "../parts/format.ts";
import { Ago, Time } from "../parts/shown-time.tsx";
import { Preview } from "../task/links.tsx";
import { type FilePlace, nameOf, namesOf, type ResultFile } from "./result-files.ts";

interface ResultProps {
  /** The first files of the result. */
  readonly files: readonly ResultFile[];
  /** Number of all files of the result. */
  readonly count: number;
  readonly now: number;
}

/** Shows the result of a completed task: its pictures, videos and sounds, and how to get the files. */
export function Result({ files, count, now }: ResultProps) {
  const isOnly = count === 1;
  return (
    <>
      <Headline files={files} count={count} now={now} />
      {files.length === 0 ? null : (
        <ul class={isOnly ? "result-files" : "result-files result-grid"}>
          {files.map((file, index) => (
            <li>
              <File file={file} number={isOnly ? null : index + 1} />
            </li>
          ))}
        </ul>
      )}
      {count > files.length ? (
        <p class="muted">
          {count - files.length} more are not shown here. Ask whoever gave you this link for them.
        </p>
      ) : null}
    </>
  );
}

/** Says in a sentence what there is, and for how long. */
function Headline({ files, count, now }: ResultProps) {
  if (count === 0) {
    return (
      <div>
        <h1 aria-live="polite">It is done</h1>
        <p>There is no file to show.</p>
      </div>
    );
  }
  const names = namesOf(files, count);
  const isGone = files.length > 0 && files.every(({ place }) => place === "gone");
  const verb = count === 1 ? "is" : "are";
  return (
    <div>
      <h1 aria-live="polite">{`Your ${names} ${verb} ${isGone ? "no longer here" : "ready"}`}</h1>
      <p>
        <Stay files={files} count={count} now={now} />
      </p>
    </div>
  );
}

/** Says for how long the files of a result can be had. */
function Stay({ files, count, now }: ResultProps) {
  const left = files.filter(({ place }) => place !== "gone");
  const [it, they, are] = count === 1 ? ["it", "it", "is"] : ["them", "they", "are"];
  if (left.length === 0) return <>Ask whoever gave you this link whether you can get {it} again.</>;
  const ends = left.map(({ endsAt }) => endsAt);
  const endsAt = ends.includes(null) ? null : Math.min(...ends.filter((end) => end !== null));
  const isElsewhere = left.some(({ place }) => place === "elsewhere");
  if (endsAt === null) {
    return (
      <>
        Save {it} soon: the service that has made {it} may delete {it}.
      </>
    );
  }
  return (
    <>
      You can save {it} until <Time at={endsAt} />, <Ago at={endsAt} now={now} />.{" "}
      {isElsewhere ? `After that ${they} may be gone.` : `Then ${they} ${are} deleted.`}
    </>
  );
}

interface FileProps {
  readonly file: ResultFile;
  /** Number of the file among several; null when it is the only one. */
  readonly number: number | null;
}

function File({ file, number }: FileProps) {
  const { kind, type, bytes, mediaUrl, place } = file;
  const name = nameOf(file);
  const named = number === null ? `the ${name}` : `${name} ${number}`;
  const format = type === null ? "" : extensionOfType(type, "").toUpperCase();
  const facts = [
    number === null ? "" : capital(named),
    format,
    bytes === null ? "" : sizeText(bytes),
    NOTES[place] ?? "",
  ].filter((fact) => fact !== "");
  return (
    <figure>
      {kind === "file" || type === null ? null : (
        <Preview type={type} url={mediaUrl} label={capital(named)} />
      )}
      <figcaption>
        <span class="muted">{facts.join(" · ")}</span>
        <Get file={file} named={named} />
      </figcaption>
    </figure>
  );
}

/** Texts about a file of which the relay has no copy, by the place where it is. */
const NOTES: Partial<Record<FilePlace, string>> = {
  copying: "being copied, shown in a moment",
  unsure: "may not be there any more",
};

/** The button that gets a file, or the reason why there is none. */
function Get({
  file: { place, url },
  named,
}: {
  readonly file: ResultFile;
  readonly named: string;
}) {
  if (place === "gone") return <span>Deleted</span>;
  if (url === null) return <span>Cannot be opened here</span>;
  if (place === "elsewhere") {
    return (
      <a class="button button-main" href={url} target="_blank" rel="noreferrer noopener">
        Open {named}
      </a>
    );
  }
  return (
    <a class="button button-main" href={url} rel="noreferrer">
      Download {named}
    </a>
  );
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
