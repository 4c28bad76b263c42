import { Icon } from "./icon.tsx";

interface CopyProps {
  /** Text that is copied. Null means the text of the code block that contains the button. */
  readonly text: string | null;
  /** Name of what is copied, for screen readers. */
  readonly what: string;
}

/** A button that copies a text. It works, and is shown, only with the script of the page. */
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

/** A button with a label that copies a text. */
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
  /** Text that is shown in place of the whole id. */
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
