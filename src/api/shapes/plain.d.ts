/**
 * Type of a value for those who read it: a value that has one of several forms is one object, whose members are
 * optional unless each form has them. A member that is present has a value, because JSON has no undefined.
 *
 * A declaration file, because the types of the binding, which other Workers import from a checkout whatever their
 * compiler options are, need it too.
 */
export type Plain<T> = Exclude<T, object | undefined> | PlainObject<Extract<T, object>>;

type PlainObject<Form> = [Form] extends [never]
  ? never
  : [Form] extends [readonly (infer Item)[]]
    ? readonly Plain<Item>[]
    : { readonly [Name in Constant<Form>]: Plain<Member<Form, Name>> } & {
        readonly [Name in Exclude<Names<Form>, Constant<Form>>]?: Plain<Member<Form, Name>>;
      };

/** Names of the members that at least one form has. */
type Names<Form> = Form extends unknown ? keyof Form : never;

/** Names of the members that each form has. */
type Constant<Form> = {
  [Name in Names<Form>]: [Form] extends [{ readonly [N in Name]: unknown }] ? Name : never;
}[Names<Form>];

/** Type of a member in the forms that have it. */
type Member<Form, Name extends PropertyKey> = Form extends { readonly [N in Name]?: infer Value }
  ? Value
  : never;
