/**
 * Tells whether a glob matches the whole name of a model. `*` stands for any number of any characters, every other
 * character for itself. The time is linear in the length of the name.
 */
export function isModelOf(glob: string, model: string): boolean {
  const [head = "", ...parts] = glob.split("*");
  const tail = parts.pop();
  if (tail === undefined) return model === head;
  if (!model.startsWith(head)) return false;
  let end = head.length;
  for (const part of parts) {
    // The first occurrence leaves the most characters to the parts that follow.
    const start = model.indexOf(part, end);
    if (start < 0) return false;
    end = start + part.length;
  }
  return end + tail.length <= model.length && model.endsWith(tail);
}
