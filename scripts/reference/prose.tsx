/** Shows a text of the API's description, with the parts between backticks as code. */
export function Prose({ text }: { readonly text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</>;
}

/** Returns a text as a sentence, with a capital letter at the beginning and a full stop at the end. */
export function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}
