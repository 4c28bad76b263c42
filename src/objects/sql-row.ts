/**
 * The type `T`, with the same properties, as a mapped type. SQL queries of a Durable Object accept as the type of their
 * rows only a type with an index signature; a mapped type counts as one, an interface does not.
 */
export type SqlRow<T> = { [K in keyof T]: T[K] };
