import type { PropsWithChildren } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";

/** What a page shows in place of an empty list: what it looked for, and what to do. */
export function Empty({
  icon,
  title,
  children,
}: PropsWithChildren<{ readonly icon: IconName; readonly title: string }>) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
