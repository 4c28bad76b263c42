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
 * Largest number of characters of a text that has a button to copy it. With the button, the page contains the text a
 * second time, in an attribute, where a quotation mark takes six bytes.
 */
const COPIED_CHARACTERS = 8_192;

/**
 * Code block with a text that somebody outside the relay has written. Invisible characters are replaced by their
 * names, but the button copies the original text. A long text has no such button.
 */
export function HostileCode({ text, what, title }: HostileCodeProps) {
  const isCopied = text.length <= COPIED_CHARACTERS;
  return (
    <div class="code">
      {title === undefined ? null : <div class="code-head">{title}</div>}
      {isCopied ? <Copy text={text} what={what} /> : null}
      <pre>
        <code>
          <Hostile text={text} />
        </code>
      </pre>
      {isCopied ? null : (
        <p class="small muted">This is only the beginning; the API returns all of it.</p>
      )}
    </div>
  );
}
