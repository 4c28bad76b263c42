import type { Child, PropsWithChildren } from "hono/jsx";

interface DialogProps {
  readonly id: string;
  readonly title: string;
  /** True to open the dialog as soon as the page is shown, because its form was refused. False when absent. */
  readonly isOpen?: boolean;
}

/** A dialog that a `DialogButton` opens. The Escape key and its `CloseButton` close it. */
export function Dialog({ id, title, isOpen = false, children }: PropsWithChildren<DialogProps>) {
  return (
    <dialog id={id} class="dialog" aria-labelledby={`${id}-title`} open={isOpen}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </dialog>
  );
}

interface DialogButtonProps {
  /** Id of the dialog that the button opens. */
  readonly opens: string;
  readonly class?: string;
  /** Key on the keyboard that has the same effect as the button. When absent, there is no such key. */
  readonly hotkey?: string;
  readonly label?: string;
  readonly children?: Child;
}

/** A button that opens a dialog. */
export function DialogButton({ opens, hotkey, label, children, ...rest }: DialogButtonProps) {
  const key = hotkey === undefined ? {} : { "data-key": hotkey };
  const name = label === undefined ? {} : { "aria-label": label, title: label };
  return (
    <button
      type="button"
      class={rest.class ?? "button"}
      command="show-modal"
      commandfor={opens}
      {...key}
      {...name}
    >
      {children}
    </button>
  );
}

/** A button that closes its dialog and does nothing else, e.g. "Cancel". */
export function CloseButton({ of, children }: PropsWithChildren<{ readonly of: string }>) {
  return (
    <button type="button" class="button" command="close" commandfor={of}>
      {children}
    </button>
  );
}
