import type { Child } from "hono/jsx";

/** One of several versions of the same thing. */
interface Tab {
  readonly title: string;
  readonly content: Child;
}

interface TabsProps {
  /** Name of the choice; tabs of the same page have different ones. */
  readonly name: string;
  /** Name of the choice, for screen readers. */
  readonly label: string;
  /** At most five tabs; the first is shown at first. */
  readonly tabs: readonly Tab[];
}

/** Shows one of several versions of the same thing, by choice; works without script. */
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
