import { Copy } from "./copy.tsx";
import { Hostile } from "./hostile.tsx";

interface HostileCodeProps {
  readonly text: string;
  /** Name of the code, for the button that copies it. */
  readonly what: string;
  /** Heading above the code. */
  readonly title?: string;
}

/**
 * Code that contains text of strangers: characters that cannot be seen are named, and the button copies the
 * text as it is.
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
