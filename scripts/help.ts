/** Prints how a command is used, if its arguments ask for that. @returns whether they do. */
export function printHelp(args: readonly string[], usage: string): boolean {
  const isAsked = args.includes("--help") || args.includes("-h");
  if (isAsked) console.log(usage);
  return isAsked;
}
