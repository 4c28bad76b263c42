/**
 * Placeholders for files in the text of an answer. The links to files are not known while the answer is read, and an
 * answer that is kept gets other links each time it is shown.
 */

/**
 * Returns the text that stands for a file.
 * @param token text of URL characters that nobody can guess, so that an answer cannot contain such a placeholder itself.
 */
export function placeholderOf(token: string, number: number): string {
  return `${placeholderStart(token)}${number}`;
}

/**
 * Returns JSON in which links replace the placeholders.
 * @param links links to the files, in the order of their numbers. The placeholder of a file that has no link stays.
 */
export function withLinks(json: string, token: string, links: readonly string[]): string {
  const start = placeholderStart(token);
  const [before = "", ...parts] = json.split(start);
  const linked = parts.map((part) => {
    const [digits = ""] = /^\d{1,9}/.exec(part) ?? [];
    const link = links[Number(digits) - 1];
    if (link === undefined) return start + part;
    return JSON.stringify(link).slice(1, -1) + part.slice(digits.length);
  });
  return before + linked.join("");
}

function placeholderStart(token: string): string {
  return `relay-output:${token}:`;
}
