import { relativeText, utcText } from "../format.ts";

interface TimeProps {
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly precision?: "s" | "ms";
}

/**
 * A time. It is written in UTC here; the script of the page writes it in the reader's zone, in the same width,
 * unless UTC is chosen.
 */
export function Time({ at, precision = "s" }: TimeProps) {
  const iso = new Date(at).toISOString();
  const unit = precision === "ms" ? { "data-ms": "" } : {};
  return (
    <time datetime={iso} title={`${iso} (UTC)`} {...unit}>
      {utcText(at, precision)}
    </time>
  );
}

/** How long ago a time was, kept up to date by the script of the page. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={`${iso} (UTC)`} data-ago="">
      {relativeText(at, now)}
    </time>
  );
}
