import type { Child } from "hono/jsx";

interface StatProps {
  readonly value: Child;
  readonly label: string;
  /** Path of the page that lists what the number counts. */
  readonly href?: string;
}

/** A number with its name. It is a link to the list of what it counts, if there is one. */
export function Stat({ value, label, href }: StatProps) {
  const content = (
    <>
      <span class="stat-value">{value}</span>
      <span class="stat-label">{label}</span>
    </>
  );
  if (href === undefined) return <div class="stat">{content}</div>;
  return (
    <a class="stat" href={href}>
      {content}
    </a>
  );
}
