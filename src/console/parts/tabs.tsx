import type { Child } from "hono/jsx";

/** A tab: its title, and the version of the content that is shown while it is selected. */
interface Tab {
  readonly title: string;
  readonly content: Child;
}

interface TabsProps {
  /** Name of the group of tabs. No other group on the page may have it, because the tabs are radio buttons. */
  readonly name: string;
  /** Label of the group of tabs, for screen readers. */
  readonly label: string;
  /** Tabs, at most five. The first is selected when the page opens. */
  readonly tabs: readonly Tab[];
}

/**
 * Shows one of several versions of the same content. The reader selects the version by tabs, which work without script.
 */
export function Tabs({ name, label, tabs }: TabsProps) {
  return (
    <div class="tabs">
      <div class="choice" role="radiogroup" aria-label={label}>
        {tabs.map(({ title }, at) => (
          <label>
            <input type="radio" name={name} checked={at === 0} />
            {title}
          </label>
        ))}
      </div>
      {tabs.map(({ content }) => (
        <div class="tab">{content}</div>
      ))}
    </div>
  );
}
