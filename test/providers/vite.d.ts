declare module "*?raw" {
  const text: string;
  export default text;
}

interface ImportMeta {
  /** Imports the files that match, by their paths relative to the importing file. Vite replaces the call. */
  glob<T>(
    patterns: readonly string[],
    options: { readonly eager: true; readonly import: string; readonly query?: string },
  ): Readonly<Record<string, T>>;
}
