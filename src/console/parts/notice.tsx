import type { Child, PropsWithChildren } from "hono/jsx";
import type { Tone } from "./chip.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface NoticeProps {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title: Child;
  /** Buttons and links by which the reader can act on the message. */
  readonly actions?: Child;
}

/** Message about something that needs attention or has happened, with links to what can be done about it. */
export function Notice({ tone, icon, title, actions, children }: PropsWithChildren<NoticeProps>) {
  return (
    <div class={`notice tone-${tone}`}>
      <Icon name={icon} />
      <div>
        <p>{title}</p>
        {children}
      </div>
      {actions === undefined ? null : <div class="buttons">{actions}</div>}
    </div>
  );
}

interface ConfirmationProps {
  /** Name of the action that has led to the page. */
  readonly done: string;
  /** Texts that confirm an action, by its name. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Confirms what was done before the page was opened. Empty when there is no text for it. */
export function Confirmation({ done, texts }: ConfirmationProps) {
  const text = texts[done];
  return text === undefined ? null : <Notice tone="ok" icon="check" title={text} />;
}
