import { Copy } from "./copy.tsx";
import { countText } from "./format.ts";

/**
 * Shows a text that a receiver, an upstream or a client has written. The text is escaped, cannot change the direction
 * of the text around it, is shown with names instead of invisible characters, and ends after 2,000 characters.
 */
export function Hostile({ text }: { readonly text: string }) {
  return (
    <bdi class="hostile">
      {textParts(text).map((part) =>
        part.kind === "text" ? part.text : <span class={part.kind}>{part.text}</span>,
      )}
    </bdi>
  );
}

interface HostileCodeProps {
  readonly text: string;
  /** Words for what the text is, which become part of the label of its copy button. */
  readonly what: string;
  /** Heading above the code. */
  readonly title?: string;
}

/**
 * Largest length in characters of a text that has a copy button. Because of the button, the page contains the text a
 * second time, in an attribute, where a quotation mark takes six bytes.
 */
const COPIED_CHARACTERS = 8_192;

/**
 * Code block with a text that somebody outside the relay has written. Invisible characters are replaced by their names,
 * but the copy button copies the original text. A long text has no such button.
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

/** Largest number of characters that a page shows of a text by somebody outside the relay. */
const SHOWN_CHARACTERS = 2000;
/**
 * Largest number of invisible characters in a text that a page replaces by their names. Each name takes about 35 bytes
 * of the page.
 */
const NAMED_CHARACTERS = 100;

/**
 * A part of a text: `text` is shown as it is; `hidden` is the name of a character that is invisible or changes the
 * order of the text; `rest` says how many more characters there are that are not shown.
 */
interface TextPart {
  readonly kind: "text" | "hidden" | "rest";
  readonly text: string;
}

/**
 * Matches characters that cannot be seen: control characters, marks of direction, characters without width, lone
 * surrogates, line separators, and fillers that show nothing.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u;
/** Control characters that only lay out a text (tab, line break). They are shown as they are. */
const LAYOUT = new Set(["\t", "\n"]);

/**
 * Divides a text by a receiver, an upstream or a client into parts. An invisible character becomes its name, e.g.
 * `U+202E`. The text ends after 2,000 characters, or before the 101st invisible character; the last part then says how
 * many characters remain. Even a text of megabytes takes little memory.
 */
export function textParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let plain = "";
  let shown = 0;
  let named = 0;
  let end = 0;
  const endPlain = () => {
    if (plain !== "") parts.push({ kind: "text", text: plain });
    plain = "";
  };
  // A character has at most two UTF-16 units.
  for (const character of text.slice(0, 2 * SHOWN_CHARACTERS)) {
    const isHidden = HIDDEN.test(character) && !LAYOUT.has(character);
    if (shown === SHOWN_CHARACTERS || (isHidden && named === NAMED_CHARACTERS)) break;
    if (isHidden) {
      endPlain();
      parts.push({ kind: "hidden", text: nameOf(character) });
      named++;
    } else {
      plain += character;
    }
    shown++;
    end += character.length;
  }
  endPlain();
  const rest = charactersFrom(text, end);
  if (rest > 0) parts.push({ kind: "rest", text: `… ${countText(rest)} more characters` });
  return parts;
}

/** Returns the number of characters of a text after a position. A pair of surrogates counts as one character. */
function charactersFrom(text: string, start: number): number {
  let count = 0;
  for (let at = start; at < text.length; count++)
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
