import { Copy } from "./copy.tsx";
import { Hostile } from "./hostile.tsx";

interface HostileCodeProps {
  readonly text: string;
  /** Name of the code for the label of its copy button. */
  readonly what: string;
  /** Heading above the code. */
  readonly title?: string;
}

/**
 * Code block with text that someone else has written: invisible characters are replaced by their names, but
 * the button copies the original text.
 */
export function HostileCode({ text, what, title }: HostileCodeProps) {
  return (
    <div class="code">
      {title === undefined ? null : <div class="code-head">{title}</div>}
      <Copy text={text} what={what} />
      <pre>
        <code>
          <Hostile text={text} />
        </code>
      </pre>
    </div>
  );
}
