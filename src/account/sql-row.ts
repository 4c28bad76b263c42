/** The same properties as `T`, as a type that SQL queries accept for their rows. */
export type SqlRow<T> = { [K in keyof T]: T[K] };
