import type { Content, Endpoint } from "./document.ts";
import { typeOf } from "./schema-fields.ts";
import { Code } from "../../src/console/parts/code.tsx";
import { SchemaMembers, TypeText } from "./members.tsx";
import type { Reference } from "./schemas.ts";
import { Prose, sentence } from "./prose.tsx";

interface AnswersProps {
  readonly endpoint: Endpoint;
  readonly reference: Reference;
}

/** Lists the answers of an API operation with their bodies and headers. Error answers (problems) are left out. */
export function Answers({ endpoint, reference }: AnswersProps) {
  return (
    <>
      <h4>Answers</h4>
      <ul class="members">
        {answersOf(endpoint).map(({ status, description, content, headers }) => (
          <li>
            <p class="member">
              <code>{status}</code> <Prose text={sentence(description)} />
            </p>
            <Bodies content={content} reference={reference} />
            {headers.map(([name, text]) => (
              <p>
                <code>{name}</code>: <Prose text={text} />
              </p>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}

/**
 * Shows the type of each body of an answer. When the schema of the body is written out in place, also shows its
 * members.
 */
function Bodies({ content, reference }: { content: Content; reference: Reference }) {
  return (
    <>
      {Object.entries(content).map(([mediaType, body]) => {
        if (body === undefined) return null;
        const { schema } = body;
        const isJson = mediaType.startsWith("application/json");
        return (
          <>
            <p>
              {isJson ? null : <code>{mediaType}</code>}{" "}
              {isJson || schema.type !== "string" ? (
                <TypeText type={typeOf(schema)} reference={reference} />
              ) : null}
            </p>
            {schema.properties === undefined ? null : (
              <SchemaMembers schema={schema} reference={reference} />
            )}
          </>
        );
      })}
    </>
  );
}

function answersOf({ responses }: Endpoint) {
  return Object.entries(responses).flatMap(([status, answer]) => {
    if (answer === undefined || answer.$ref !== undefined) return [];
    const { description = "", headers = {} } = answer;
    // Problems are listed separately, by their codes.
    const { "application/problem+json": _, ...content } = answer.content ?? {};
    const own = Object.entries(headers).flatMap(([name, header]) =>
      header?.description === undefined ? [] : [[name, header.description] as const],
    );
    return [{ status, description, content, headers: own }];
  });
}

/** Returns an example of each answer of an operation. */
export function examplesOf(endpoint: Endpoint) {
  return answersOf(endpoint).flatMap(({ status, content }) =>
    Object.entries(content).flatMap(([mediaType, body]) => {
      const example = body?.example ?? Object.values(body?.examples ?? {})[0]?.value;
      if (example === undefined) return [];
      const isText = typeof example === "string";
      const text = isText ? example : JSON.stringify(example, null, 2);
      const kind = mediaType.startsWith("application/json") ? "" : ` ${shortName(mediaType)}`;
      return [
        {
          title: `${status}${kind}`,
          content: (
            <Code
              text={text}
              language={isText ? "plain" : "json"}
              what={`the example of the answer ${status}`}
            />
          ),
        },
      ];
    }),
  );
}

function shortName(mediaType: string): string {
  const [name = ""] = mediaType.split(";");
  return name.replace(/^\w+\//, "");
}
