import { Icon, type IconName } from "./icon.tsx";

interface NeighbourProps {
  readonly by: 1 | -1;
  readonly icon: IconName;
  readonly hotkey: string;
  readonly label: string;
}

/** Link to the task before or after this one in the list shown last, which only the script knows. */
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
