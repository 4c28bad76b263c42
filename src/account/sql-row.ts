/**
 * Type with the properties of `T` that SQL queries accept for their rows, also where `T` is an interface.
 */
export type SqlRow<T> = { [K in keyof T]: T[K] };
