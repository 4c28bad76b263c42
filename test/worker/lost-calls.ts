import { BINDINGS } from "./submitted.ts";

type Method = (call: () => Promise<unknown>) => Promise<unknown>;

/** Loses a call to an object, as the platform does while the object is moved. */
export async function lose(): Promise<never> {
  throw Object.assign(new Error("Network connection lost."), { retryable: true });
}

/** Returns bindings with which these methods of the objects of tasks are called as `methods` say. */
export function withTasks(methods: Readonly<Record<string, Method>>): object {
  return { ...BINDINGS, TASKS: namespaceWith(BINDINGS.TASKS, methods) };
}

/** Returns a namespace of objects, of which these methods are called as `methods` say. */
export function namespaceWith(
  namespace: { readonly getByName: (name: string) => object },
  methods: Readonly<Record<string, Method>>,
): object {
  const getByName = (id: string) =>
    new Proxy(namespace.getByName(id), {
      get: (stub, name) => {
        const method: unknown = Reflect.get(stub, name);
        const called = methods[String(name)];
        if (called === undefined || typeof method !== "function") return method;
        return (...given: unknown[]) => called(async () => Reflect.apply(method, stub, given));
      },
    });
  return { getByName };
}
