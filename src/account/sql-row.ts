/** Copies the properties of `T` to a type that SQL queries accept for their rows. */
export type SqlRow<T> = { [K in keyof T]: T[K] };
