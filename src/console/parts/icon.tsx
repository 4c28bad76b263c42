import { raw } from "hono/html";

/** Drawings of the icons, as SVG path data on a grid of 16 × 16. Lines have the width 1.5. */
const PATHS = {
  account: "M8 8a2.6 2.6 0 1 0 0-5.2A2.6 2.6 0 0 0 8 8zM3 13.4c.5-2.2 2.5-3.6 5-3.6s4.5 1.4 5 3.6",
  arrow: "M3.5 8h9M9 4.5 12.5 8 9 11.5",
  back: "M12.5 8h-9M7 4.5 3.5 8 7 11.5",
  block: "M8 13.7A5.7 5.7 0 1 0 8 2.3a5.7 5.7 0 0 0 0 11.4zM4 4l8 8",
  book: "M8 4.3C6.8 3.4 5 3 2.5 3v9c2.5 0 4.3.4 5.5 1.3 1.2-.9 3-1.3 5.5-1.3V3C11 3 9.2 3.4 8 4.3zm0 0v9",
  check: "m3.5 8.5 3 3 6-7",
  clock: "M8 13.7A5.7 5.7 0 1 0 8 2.3a5.7 5.7 0 0 0 0 11.4zM8 5v3.2l2 1.3",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  copy: "M7 5.5h5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5H7A1.5 1.5 0 0 1 5.5 12V7A1.5 1.5 0 0 1 7 5.5zM10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5",
  cross: "m4.3 4.3 7.4 7.4m0-7.4-7.4 7.4",
  help: "M8 13.7A5.7 5.7 0 1 0 8 2.3a5.7 5.7 0 0 0 0 11.4zM6.4 6.3a1.7 1.7 0 1 1 2.5 1.5c-.6.3-.9.7-.9 1.2M8 11v.1",
  host: "M8 13.7A5.7 5.7 0 1 0 8 2.3a5.7 5.7 0 0 0 0 11.4zM2.4 8h11.2M8 2.3c1.7 1.6 2.4 3.5 2.4 5.7S9.7 12.1 8 13.7C6.3 12.1 5.6 10.2 5.6 8S6.3 3.9 8 2.3z",
  more: "M3.5 8h.1M8 8h.1M12.4 8h.1",
  offer: "M8.5 2.5h5v5l-6 6-5-5zM11 5h.1",
  overview: "M1.8 8.5h2.7l2-5.5 3 10 2-4.5h2.7",
  provider: "m8 2.3 5.7 2.9L8 8.1 2.3 5.2zM2.3 8 8 10.9 13.7 8M2.3 10.8 8 13.7l5.7-2.9",
  search: "M7 11.3a4.3 4.3 0 1 0 0-8.6 4.3 4.3 0 0 0 0 8.6zM10.2 10.2l3.3 3.3",
  send: "M13.7 2.3 7.2 8.8M13.7 2.3 9.5 13.7 7.2 8.8 2.3 6.5z",
  sync: "M13.2 8a5.2 5.2 0 1 1-1.6-3.8M13.3 2.3v2.9h-2.9",
  tasks: "M6 4.2h7.5M6 8h7.5M6 11.8h7.5M2.7 4.2h.1M2.7 8h.1M2.7 11.8h.1",
  theme: "M8 13.7A5.7 5.7 0 1 0 8 2.3a5.7 5.7 0 0 0 0 11.4zM8 5v6M9.7 4.6v6.8M11.4 5.8v4.4",
  warn: "m8 2.5 6 10.7H2zM8 6.5v3M8 11.3v.1",
} as const;

export type IconName = keyof typeof PATHS;

interface IconProps {
  readonly name: IconName;
  /** Further CSS class; a constant of the code, because it is not escaped. */
  readonly class?: "icon-copy" | "icon-done";
}

/**
 * Draws an icon. Screen readers skip it, because the text next to it says the same. It is written as text, because a
 * list has hundreds of icons, and elements take a multiple of the time.
 */
export function Icon({ name, class: own }: IconProps) {
  const classes = own === undefined ? "icon" : `icon ${own}`;
  return raw(
    `<svg class="${classes}" viewBox="0 0 16 16" aria-hidden="true"><path d="${PATHS[name]}"/></svg>`,
  );
}
