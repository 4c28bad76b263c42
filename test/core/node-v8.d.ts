/** The part of Node's V8 that the tests use; the other Node types contradict those of Workers. */
declare module "node:v8" {
  export function serialize(value: unknown): Uint8Array;
}
