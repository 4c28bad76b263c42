import { textParts } from "../hostile-text.ts";

/**
 * Shows text that a receiver, an upstream or a client has written: escaped, with its own direction, invisible
 * characters named, and cut at 2,000 characters.
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
