/**
 * Error for a `wrangler.toml` that the setup cannot edit, because it has another form than expected; the user
 * must edit it by hand.
 */
export class UnexpectedToml extends Error {}

/**
 * Function that selects blocks of a TOML text; a block is a header, such as `[[queues.producers]]`, with the
 * assignments under it. @param active lines of the block, with the comment signs removed.
 */
type IsWanted = (active: string) => boolean;

const HEADER = /^\[/;
/** Header of the first table of an environment; wrangler's environments stand at the end of the file. */
const ENVIRONMENT = /^\[\[?env\./m;
const COMMENT = /^#\s?/;

/**
 * Sets a key in a table of a TOML text and keeps all other lines; when the key is only in a comment, this
 * line becomes active.
 * @param table null for the keys above all tables.
 * @param value as TOML; null makes the line a comment.
 * @throws UnexpectedToml when the present value spans several lines.
 */
export function setKey(
  toml: string,
  table: string | null,
  key: string,
  value: string | null,
): string {
  const lines = toml.split("\n");
  const header = table === null ? -1 : lines.findIndex((line) => line.trim() === `[${table}]`);
  if (table !== null && header < 0) {
    return value === null ? toml : `${toml.trimEnd()}\n\n[${table}]\n${key} = ${value}\n`;
  }
  const next = lines.findIndex((line, i) => i > header && HEADER.test(line));
  const end = next < 0 ? lines.length : next;
  const at = (pattern: RegExp) =>
    lines.findIndex((line, i) => i > header && i < end && pattern.test(line));
  const active = at(new RegExp(`^${key}\\s*=`));
  if (active >= 0) lines[active] = changed(lines[active] ?? "", key, value);
  if (active >= 0 || value === null) return lines.join("\n");
  const comment = at(new RegExp(`^#\\s*${key}\\s*=`));
  if (comment >= 0) lines[comment] = `${key} = ${value}`;
  else lines.splice(lastActive(lines, header, end) + 1, 0, `${key} = ${value}`);
  return lines.join("\n");
}

/**
 * Returns the value of a key of a TOML text, as TOML, from a line that is not a comment and not under an
 * environment (`[env.…]`); null when there is no such line.
 */
export function readKey(toml: string, key: string): string | null {
  const [shared = ""] = toml.split(ENVIRONMENT);
  const line = shared.split("\n").find((each) => new RegExp(`^${key}\\s*=`).test(each));
  return line === undefined ? null : (partsOf(line, key)?.value ?? null);
}

/** Returns the values of a table of a TOML text that stand in one line, as texts without quotes. */
export function readTable(toml: string, table: string): Readonly<Record<string, string>> {
  const [, ...lines] = toml.slice(toml.search(new RegExp(`^\\[${table}\\]`, "m"))).split("\n");
  const end = lines.findIndex((line) => HEADER.test(line));
  const values = lines.slice(0, end < 0 ? lines.length : end).flatMap((line) => {
    const found = /^(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s#"'[{]+))/.exec(line);
    const [, name, quoted, literal, bare] = found ?? [];
    return name === undefined ? [] : [[name, quoted ?? literal ?? bare ?? ""] as const];
  });
  return Object.fromEntries(values);
}

/**
 * Switches blocks of a TOML text on or off: those that have the header `header` and that `isWanted` selects.
 * On turns the first of them from comments into active lines, off turns all of them into comments.
 * @throws UnexpectedToml when there is no block to switch on.
 */
export function switchBlocks(
  toml: string,
  header: string,
  isOn: boolean,
  isWanted: IsWanted = () => true,
): string {
  const lines = toml.split("\n");
  const blocks = blocksUnder(lines, header).filter(({ start, end }) =>
    isWanted(lines.slice(start, end).map(uncommented).join("\n")),
  );
  if (isOn && blocks.length === 0) {
    throw new UnexpectedToml(`has no block ${header} to switch on, not even as a comment`);
  }
  for (const { start, end } of isOn ? blocks.slice(0, 1) : blocks) {
    for (let i = start; i < end; i++) {
      const plain = uncommented(lines[i] ?? "");
      lines[i] = isOn ? plain : `# ${plain}`;
    }
  }
  return lines.join("\n");
}

/**
 * Sets a key in the active blocks of a TOML text that have the header `header` and that `isWanted` selects.
 * @param value as TOML; null removes the line.
 */
export function setBlockKey(
  toml: string,
  header: string,
  isWanted: IsWanted,
  key: string,
  value: string | null,
): string {
  const lines = toml.split("\n");
  // From the last one, because a change moves all lines behind it.
  for (const { start, end } of blocksUnder(lines, header).toReversed()) {
    const block = lines.slice(start, end);
    if (block[0] !== header || !isWanted(block.join("\n"))) continue;
    const others = block.filter((line) => !new RegExp(`^${key}\\s*=`).test(line));
    const set = value === null ? [] : [`${key} = ${value}`];
    lines.splice(start, end - start, ...others, ...set);
  }
  return lines.join("\n");
}

/**
 * Returns the value of a key, as text without quotes, in the first active block of a TOML text that has the header `header`
 * and that `isWanted` selects; null when there is none.
 */
export function readBlockKey(
  toml: string,
  header: string,
  isWanted: IsWanted,
  key: string,
): string | null {
  const lines = toml.split("\n");
  const blocks = blocksUnder(lines, header).map(({ start, end }) => lines.slice(start, end));
  const block = blocks.find((each) => each[0] === header && isWanted(each.join("\n"))) ?? [];
  const line = block.find((each) => new RegExp(`^${key}\\s*=`).test(each));
  return line === undefined ? null : (partsOf(line, key)?.value.replaceAll('"', "") ?? null);
}

/**
 * Tells whether a TOML text has an active block, not a comment, with the header `header` that `isWanted`
 * selects.
 */
export function hasBlock(toml: string, header: string, isWanted: IsWanted): boolean {
  const lines = toml.split("\n");
  return blocksUnder(lines, header).some(
    ({ start, end }) => lines[start] === header && isWanted(lines.slice(start, end).join("\n")),
  );
}

/**
 * Finds the lines of each block with the header `header`, active or a comment: the header and the assignments
 * after it.
 */
function blocksUnder(lines: readonly string[], header: string) {
  const starts = lines.flatMap((line, i) => (uncommented(line).trim() === header ? i : []));
  return starts.map((start) => {
    let end = start + 1;
    while (/^\w+\s*=/.test(uncommented(lines[end] ?? ""))) end++;
    return { start, end };
  });
}

function uncommented(line: string): string {
  return line.replace(COMMENT, "");
}

function changed(line: string, key: string, value: string | null): string {
  const parts = partsOf(line, key);
  if (parts === null) throw new UnexpectedToml(`has a value of ${key} that spans several lines`);
  return value === null ? `# ${line}` : `${key} = ${value}${parts.comment}`;
}

/**
 * Splits the line of a TOML assignment into its value and the comment after it; null when the value continues
 * on the next line.
 */
function partsOf(line: string, key: string) {
  const pattern = new RegExp(`^${key}\\s*=\\s*("[^"]*"|\\[.*\\]|[^"[#]+?)(\\s*#.*)?\\s*$`);
  const match = pattern.exec(line);
  return match === null ? null : { value: match[1] ?? "", comment: match[2] ?? "" };
}

function lastActive(lines: readonly string[], header: number, end: number): number {
  return lines.findLastIndex(
    (line, i) => i < end && i >= Math.max(header, 0) && /^[\w[]/.test(line),
  );
}
