/** Files that are built from others of the tree and ignored by git. */
export interface Product {
  readonly name: string;
  /** Files and folders from which it is made, as paths from the root of the tree. */
  readonly sources: readonly string[];
  /** Packages that must be installed to make it, as paths from the root of the tree. */
  readonly needs: readonly string[];
  /**
   * Makes the contents of all its files, by their paths from the root of the tree. What only development dependencies
   * provide is imported in here.
   */
  readonly make: () => Promise<Readonly<Record<string, string | Uint8Array>>>;
}
