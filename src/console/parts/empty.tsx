import type { PropsWithChildren } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";

/** Notice in place of an empty list, with the filters of the search and the next thing to do. */
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
