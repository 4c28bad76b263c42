/**
 * Type `T` in the form that SQL queries accept as the type of their rows. They demand an index signature, which an
 * interface lacks; a mapped type with the same properties has it.
 */
export type SqlRow<T> = { [K in keyof T]: T[K] };
