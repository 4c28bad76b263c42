/** Error that ends `npm run deploy:first`; its message is one line with the cause and the cure. */
export class Refusal extends Error {
  constructor(cause: string, cure: string) {
    super(`${cause.trim().replace(/\.$/, "")}. Cure: ${cure}`.replaceAll(/\s+/g, " "));
  }
}
