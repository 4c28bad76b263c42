/** Drawing of the relay's logo, as SVG path data: three attempts at exact times on an axis. */
const SIGN = "M3.5 15.5h13M5 12.5v-8M8.6 12.5V7M15 12.5v-2.7";

/** The icon of the pages, as the text of an SVG file. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><rect width="20" height="20" rx="5" fill="#3f46d6"/><path d="${SIGN}" stroke="#fff" stroke-width="1.8" stroke-linecap="round"/></svg>
`;

/** The logo and the name of the product, as a link, which by default leads to the front page. */
export function Brand({ href = "/" }: { readonly href?: string }) {
  return (
    <a class="brand" href={href} aria-label="Task Relay">
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <path
          d={SIGN}
          fill="none"
          stroke="currentColor"
          stroke-width="1.8"
          stroke-linecap="round"
        />
      </svg>
      <span>Task Relay</span>
    </a>
  );
}
