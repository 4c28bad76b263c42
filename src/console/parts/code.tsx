import { codeTokens } from "./code-tokens.ts";
import { Copy } from "./copy.tsx";

interface CodeProps {
  readonly text: string;
  /** Name of the code for the label of its copy button. */
  readonly what: string;
  /** Heading above the code. */
  readonly title?: string;
  readonly language?: "json" | "plain";
}

/** Code with a button to copy it. */
export function Code({ text, what, title, language = "plain" }: CodeProps) {
  return (
    <div class="code">
      {title === undefined ? null : <div class="code-head">{title}</div>}
      <Copy text={null} what={what} />
      <pre>
        <code>{language === "json" ? highlighted(text) : text}</code>
      </pre>
    </div>
  );
}

function highlighted(text: string) {
  return codeTokens(text).map(({ kind, text: part }) =>
    kind === "plain" ? part : <span class={kind}>{part}</span>,
  );
}
