/**
 * Returns the FNV-1a hash of a text, from 0 to 0xffffffff. It gives similar texts, e.g. the UUIDs of one machine,
 * very different numbers. It is no protection against people who search for texts with the same hash.
 * Source: https://datatracker.ietf.org/doc/draft-eastlake-fnv/
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
