import { Icon, type IconName } from "../parts/icon.tsx";

interface NeighbourProps {
  readonly by: 1 | -1;
  readonly icon: IconName;
  readonly hotkey: string;
  readonly label: string;
}

/**
 * Link to the task before or after this task, in the list of tasks that the browser has shown last. The server does
 * not know this list, so the script of the page sets the address of the link.
 */
export function Neighbour({ by, icon, hotkey, label }: NeighbourProps) {
  return (
    <a
      href="/tasks"
      class="button button-plain button-icon"
      data-neighbour={String(by)}
      data-key={hotkey}
      aria-label={label}
      title={`${label} (${hotkey})`}
      hidden
    >
      <Icon name={icon} />
    </a>
  );
}
