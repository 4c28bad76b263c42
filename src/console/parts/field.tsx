import type { Child } from "hono/jsx";

interface FieldProps {
  readonly label: string;
  readonly name: string;
  /** Id of the field, required when another form of the page has a field of the same name. */
  readonly id?: string;
  readonly value?: string;
  readonly type?: "text" | "number" | "url";
  readonly pattern?: string;
  readonly maxlength?: number;
  readonly min?: number;
  readonly required?: boolean;
  readonly hint?: Child;
}

/** A field of a form with its label and, below it, a hint on what to enter. */
export function Field({ label, name, hint, id = name, type = "text", ...rest }: FieldProps) {
  const described = hint === undefined ? {} : { "aria-describedby": `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        type={type}
        autocomplete="off"
        spellcheck={false}
        {...rest}
        {...described}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} class="muted small">
          {hint}
        </p>
      )}
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly name: string;
  /** Id of the field, required when another form of the page has a field of the same name. */
  readonly id?: string;
  /** Values with their labels; the first is selected. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A field of a form in which one of a few values is selected. */
export function Select({ label, name, id = name, options }: SelectProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </div>
  );
}
