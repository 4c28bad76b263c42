import type { Parameter, Schema } from "./document.ts";
import { type Field, fieldsOf, limitsOf, typeOf, type TypePart } from "./schema-fields.ts";
import type { Reference } from "./schemas.ts";
import { Prose, sentence } from "./prose.tsx";

interface MembersProps {
  readonly fields: readonly Field[];
  readonly reference: Reference;
}

/** Lists the members of an object. The members of nested objects are folded. */
function Members({ fields, reference }: MembersProps) {
  return (
    <ul class="members">
      {fields.map(({ name, type, requirement, limits, description, members }) => (
        <li>
          <p class="member">
            <code>{name}</code> <TypeText type={type} reference={reference} />
            {requirement === "" ? null : <span class="required">{requirement}</span>}
          </p>
          <Explanation description={description} limits={limits} />
          {members.length === 0 ? null : (
            <details class="details">
              <summary>
                {members.length} member{members.length === 1 ? "" : "s"} of <code>{name}</code>
              </summary>
              <Members fields={members} reference={reference} />
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Lists the members of the object that a schema describes. */
export function SchemaMembers(props: { readonly schema: Schema; readonly reference: Reference }) {
  const { schema, reference } = props;
  return <Members fields={fieldsOf(schema, reference.schemas)} reference={reference} />;
}

const PLACES = [
  ["path", "Path"],
  ["query", "Query"],
  ["header", "Headers"],
] as const;

/** Lists the parameters of an operation, grouped by where a request has them: path, query or header. */
export function Parameters(props: {
  readonly parameters: readonly Parameter[];
  readonly reference: Reference;
}) {
  return (
    <>
      {PLACES.map(([place, title]) => {
        const found = props.parameters.filter((parameter) => parameter.in === place);
        if (found.length === 0) return null;
        const fields = found.map((parameter) => fieldOf(parameter, props.reference));
        return (
          <>
            <h4>{title}</h4>
            <Members fields={fields} reference={props.reference} />
          </>
        );
      })}
    </>
  );
}

function fieldOf(parameter: Parameter, { schemas }: Reference): Field {
  const { name, schema, description = "", required = false } = parameter;
  return {
    name,
    type: typeOf(schema),
    requirement: required ? "required" : "",
    limits: limitsOf([schema]),
    description,
    members: fieldsOf(schema, schemas),
  };
}

function Explanation({ description, limits }: Pick<Field, "description" | "limits">) {
  const texts = [description, limits].filter((text) => text !== "").map(sentence);
  if (texts.length === 0) return null;
  return (
    <p>
      <Prose text={texts.join(" ")} />
    </p>
  );
}

/** Shows a type. The names of schemas in it link to the sections that describe these schemas. */
export function TypeText(props: {
  readonly type: readonly TypePart[];
  readonly reference: Reference;
}) {
  return (
    <span class="type">
      {props.type.map(({ text, schema }) =>
        schema === undefined ? (
          text
        ) : (
          <a href={`#${props.reference.anchorOf(schema)}`}>{props.reference.anchorOf(schema)}</a>
        ),
      )}
    </span>
  );
}
