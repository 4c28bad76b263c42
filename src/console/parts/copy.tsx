import { Icon } from "./icon.tsx";

interface CopyProps {
  /** Text that the button copies. Null means the text of the code block in which the button is. */
  readonly text: string | null;
  /** Words for what is copied, for screen readers. */
  readonly what: string;
}

/** A button that copies a text. It needs the script of the page, and is not shown without it. */
export function Copy({ text, what }: CopyProps) {
  const content = text === null ? {} : { "data-copy": text };
  return (
    <button
      type="button"
      class="button button-plain button-small button-icon copy"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      {...content}
    >
      <Icon name="copy" class="icon-copy" />
      <Icon name="check" class="icon-done" />
    </button>
  );
}

/** A button with a label, which copies a text. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <button type="button" class="button button-small copy needs-script" data-copy={text}>
      <Icon name="copy" class="icon-copy" />
      <Icon name="check" class="icon-done" />
      {label}
    </button>
  );
}

interface IdProps {
  readonly text: string;
  readonly what: string;
  /** Text that is shown instead of the whole id. When absent, the whole id is shown. */
  readonly short?: string;
}

/** An id with a button that copies it. */
export function Id({ text, what, short = text }: IdProps) {
  return (
    <span class="id">
      <span title={text}>{short}</span>
      <Copy text={text} what={what} />
    </span>
  );
}
