import type { PropsWithChildren } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";

interface MenuProps {
  readonly label: string;
  readonly icon: IconName;
}

/**
 * A button that opens a menu with its children. Of several menus on a page, one is open. The Escape key, a click
 * elsewhere, and a button that opens a dialog close it.
 */
export function Menu({ label, icon, children }: PropsWithChildren<MenuProps>) {
  return (
    <details class="menu" name="menu">
      <summary class="button button-plain button-icon" aria-label={label} title={label}>
        <Icon name={icon} />
      </summary>
      <div class="menu-list">{children}</div>
    </details>
  );
}
