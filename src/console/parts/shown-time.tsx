import { relativeText, utcText } from "./format.ts";

interface TimeProps {
  /** Time to show, in Unix milliseconds. */
  readonly at: number;
  readonly precision?: "s" | "ms";
}

/**
 * Shows a time. The server writes it in UTC; the script of the page changes it to the time zone of the reader, unless
 * the reader has chosen UTC.
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

/** Shows how long ago a time was, or how far ahead it is. The script of the page keeps the text up to date. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={`${iso} (UTC)`} data-ago="">
      {relativeText(at, now)}
    </time>
  );
}
