import type { PropsWithChildren } from "hono/jsx";
import { CloseButton, Dialog } from "./dialog.tsx";

interface FormDialogProps {
  readonly id: string;
  readonly title: string;
  /** Path to which the form is sent. */
  readonly action: string;
  /** Text of the button that sends the form. */
  readonly send: string;
  /** States that the ordered change cannot be undone. */
  readonly isFinal?: boolean;
}

/** A dialog with a form that orders a change, and that says beforehand what will happen. */
export function FormDialog({
  id,
  title,
  action,
  send,
  isFinal = false,
  children,
}: PropsWithChildren<FormDialogProps>) {
  return (
    <Dialog id={id} title={title}>
      <form method="post" action={action} class="stack-s">
        {children}
        <div class="buttons">
          <CloseButton of={id}>Cancel</CloseButton>
          <button type="submit" class={`button ${isFinal ? "button-bad" : "button-main"}`}>
            {send}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
