/**
 * Type `T` in the form that SQL queries accept as the type of their rows. An interface lacks the index
 * signature that they demand; a mapped type with the same properties has it.
 */
export type SqlRow<T> = { [K in keyof T]: T[K] };
