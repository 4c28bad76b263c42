import type { Child } from "hono/jsx";
import type { FormFault } from "../http/forms.ts";

interface AnyFieldProps {
  readonly label: string;
  readonly name: string;
  /** Id of the field; by default its name. Needed when another form of the page has a field of the same name. */
  readonly id?: string;
  readonly value?: string | undefined;
  /**
   * Why the form was refused, if it was. The field then keeps the typed value, and shows its own error message below.
   */
  readonly fault?: FormFault | null | undefined;
}

interface TypedFieldProps extends AnyFieldProps {
  readonly maxlength?: number | undefined;
  readonly required?: boolean;
  readonly placeholder?: string | undefined;
  readonly hint?: Child;
}

interface FieldProps extends TypedFieldProps {
  readonly type?: "text" | "number" | "url";
  readonly pattern?: string;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Step between permitted numbers; `any` permits fractions. */
  readonly step?: number | "any";
}

/** A field of a form with its label. Below it are its error message and a hint on what to enter. */
export function Field({ label, name, hint, id = name, value, fault, ...rest }: FieldProps) {
  const issue = fault?.issues.get(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        value={fault?.typed.get(name) ?? value}
        autocomplete="off"
        spellcheck={false}
        {...rest}
        {...described(id, issue, hint)}
      />
      <Issue id={id} issue={issue} />
      <Hint id={id} hint={hint} />
    </div>
  );
}

interface TextFieldProps extends TypedFieldProps {
  /** Number of lines that the field shows at once. */
  readonly rows: number;
}

/** A field of a form for a text of several lines. */
export function TextField({ label, name, hint, id = name, value, fault, ...rest }: TextFieldProps) {
  const issue = fault?.issues.get(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        autocomplete="off"
        spellcheck={false}
        {...rest}
        {...described(id, issue, hint)}
      >
        {`\n${fault?.typed.get(name) ?? value ?? ""}`}
      </textarea>
      <Issue id={id} issue={issue} />
      <Hint id={id} hint={hint} />
    </div>
  );
}

interface SelectProps extends AnyFieldProps {
  readonly hint?: Child;
  /** The values that can be selected, with their labels. The first is selected unless `value` is another one. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A field of a form in which one of a few values is selected. */
export function Select({ label, name, id = name, options, value, fault, hint }: SelectProps) {
  const chosen = fault?.typed.get(name) ?? value;
  const issue = fault?.issues.get(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} {...described(id, issue, hint)}>
        {options.map(([option, text]) => (
          <option value={option} selected={option === chosen}>
            {text}
          </option>
        ))}
      </select>
      <Issue id={id} issue={issue} />
      <Hint id={id} hint={hint} />
    </div>
  );
}

/**
 * Returns attributes for screen readers that connect a field to its hint and its error message, and that mark a field
 * with an error message as invalid.
 */
export function described(id: string, issue: string | undefined, hint: Child) {
  const ids = [
    ...(issue === undefined ? [] : [`${id}-issue`]),
    ...(hint === undefined ? [] : [`${id}-hint`]),
  ];
  return {
    ...(ids.length > 0 && { "aria-describedby": ids.join(" ") }),
    ...(issue !== undefined && { "aria-invalid": "true" as const }),
  };
}

/** Hint on what to enter in the field with this id; empty when the field has none. */
function Hint({ id, hint }: { readonly id: string; readonly hint: Child }) {
  if (hint === undefined) return null;
  return (
    <p id={`${id}-hint`} class="muted small">
      {hint}
    </p>
  );
}

/** Error message of the field with this id; empty when the field has none. */
export function Issue({ id, issue }: { readonly id: string; readonly issue: string | undefined }) {
  if (issue === undefined) return null;
  return (
    <p id={`${id}-issue`} class="field-error">
      {issue}
    </p>
  );
}

/** Error message of a form that concerns no single field. */
export function FormIssue({ fault }: { readonly fault: FormFault | null | undefined }) {
  if (fault?.text == null) return null;
  return (
    <p class="field-error" role="alert">
      {fault.text}
    </p>
  );
}
