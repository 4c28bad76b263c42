/** Option of curl that sends the API key. The key is in the variable `KEY` of the shell. */
export const WITH_KEY = '-H "Authorization: Bearer $KEY"';

/** Returns a curl command for a POSIX shell, with each option on a line of its own. */
export function curl(flags: string, url: string, options: readonly string[]): string {
  return [`curl ${flags} ${quoted(url)}`, ...options].join(" \\\n  ");
}

/** Returns the curl option that sends a header. */
export function headerOption(name: string, value: string): string {
  return `-H ${quoted(`${name}: ${value}`)}`;
}

/**
 * Returns a text as one word of a shell command, in quotation marks unless no character in it has a special meaning.
 */
export function quoted(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
