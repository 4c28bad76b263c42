import type { PropsWithChildren } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";

/** Text that is shown instead of an empty list. It says why the list is empty, and what to do next. */
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
