import { registerHooks } from "node:module";

/** Replaced modules: those of the platform, and the parts of the shell that reach the outside. */
const REPLACED: readonly (readonly [end: string, stub: string])[] = [
  ["cloudflare:workers", "stubs/cloudflare-workers.ts"],
  ["cloudflare:durable-objects", "stubs/cloudflare-durable-objects.ts"],
  ["./object-platform.ts", "simulated-platform.ts"],
  ["./make-call.ts", "simulated-call.ts"],
];

/** Lets all modules that are loaded from now on get the simulated ones in place of those. */
export function replaceModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const stub = REPLACED.find(([end]) => specifier === end)?.[1];
      if (stub === undefined) return next(specifier, context);
      return { url: new URL(stub, import.meta.url).href, shortCircuit: true };
    },
  });
}
