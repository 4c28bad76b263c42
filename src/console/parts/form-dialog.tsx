import type { PropsWithChildren } from "hono/jsx";
import type { FormFault } from "../http/forms.ts";
import { CloseButton, Dialog } from "./dialog.tsx";
import { FormIssue } from "./field.tsx";

interface FormDialogProps {
  readonly id: string;
  readonly title: string;
  /** Path to which the form is sent. */
  readonly action: string;
  /** Text of the button that sends the form. */
  readonly send: string;
  /** Text of the button that closes the dialog and sends nothing; "Cancel" when absent. */
  readonly keep?: string;
  /**
   * True when the change that the form makes cannot be undone; its button then has a warning colour. False when absent.
   */
  readonly isFinal?: boolean;
  /**
   * Why this form was refused; null when it was not. After a refusal the dialog is open as soon as the page is shown.
   */
  readonly fault?: FormFault | null;
}

/** A dialog with a form that changes something. Its content says beforehand what will happen. */
export function FormDialog({
  id,
  title,
  action,
  send,
  keep = "Cancel",
  isFinal = false,
  fault = null,
  children,
}: PropsWithChildren<FormDialogProps>) {
  return (
    <Dialog id={id} title={title} isOpen={fault !== null}>
      <form method="post" action={action} class="stack-s">
        {children}
        <FormIssue fault={fault} />
        <div class="buttons">
          <CloseButton of={id}>{keep}</CloseButton>
          <button type="submit" class={`button ${isFinal ? "button-bad" : "button-main"}`}>
            {send}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
