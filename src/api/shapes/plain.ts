/**
 * Type of a JSON value as a client reads it. A value that can have several forms, e.g. an open or an ended task,
 * becomes one object type, in which a member is required if all forms have it, and optional otherwise. An optional
 * member that is present has a value, because JSON has no undefined.
 */
export type Plain<T> = Exclude<T, object | undefined> | PlainObject<Extract<T, object>>;

type PlainObject<Form> = [Form] extends [never]
  ? never
  : [Form] extends [readonly (infer Item)[]]
    ? readonly Plain<Item>[]
    : { readonly [Name in Constant<Form>]: Plain<Member<Form, Name>> } & {
        readonly [Name in Exclude<Names<Form>, Constant<Form>>]?: Plain<Member<Form, Name>>;
      };

/** Names of the members that at least one form of a value has. */
type Names<Form> = Form extends unknown ? keyof Form : never;

/** Names of the members that every form of a value has. */
type Constant<Form> = {
  [Name in Names<Form>]: [Form] extends [{ readonly [N in Name]: unknown }] ? Name : never;
}[Names<Form>];

/** Type of a member of a value, in those forms of the value that have the member. */
type Member<Form, Name extends PropertyKey> = Form extends { readonly [N in Name]?: infer Value }
  ? Value
  : never;
