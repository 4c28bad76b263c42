import { textParts } from "./hostile-text.ts";

/**
 * Shows a text that a receiver, an upstream or a client has written. The text is escaped, cannot change the direction
 * of the text around it, shows the names of invisible characters, and ends after 2,000 characters.
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
