/** Phrases and titles of the tables of connections that need an explanation, each with what it means. */
const MEANINGS = [
  [
    "hooks only",
    "A task can name the connection, but the relay can neither submit its job nor ask for its result: only a hook brings it.",
  ],
  ["takes no tasks", "No result could come, so the relay refuses tasks that name the connection."],
  [
    "signed bodies",
    "The provider signs the body of each hook, and the relay verifies it. What such a hook says counts.",
  ],
  [
    "signed requests",
    "The provider signs the request and not its body, and the relay verifies it. Such a hook shows that there is news of the job.",
  ],
  [
    "signature not checked",
    "The provider signs its hooks, but the secret that verifies them is not set. They count like unsigned ones.",
  ],
  [
    "by their URL",
    "Each job has a hook URL of its own, which contains a secret token. Whoever sends to it is taken for the provider.",
  ],
  [
    "a poll decides",
    "What the hook says is not believed alone: the relay asks the provider at once, and the answer counts.",
  ],
  ["none, polled", "The provider sends no hooks. The relay asks for each job until it has ended."],
  [
    "hook URL goes into",
    "The parameter of the provider's own call that takes the hook URL. The relay sets it in what it submits; whoever submits himself sets it.",
  ],
  ["links live", "How long the provider's links to outputs work, as its documents say."],
] as const;

type Phrase = (typeof MEANINGS)[number][0];

/** A phrase, as a link to its explanation on the same page. */
export function Word({ of }: { readonly of: Phrase }) {
  return <a href={`#${idOf(of)}`}>{of}</a>;
}

/** The explanations of all phrases, folded. The browser unfolds them when a link leads to one. */
export function Words() {
  return (
    <details class="details" id="words">
      <summary>What these words mean</summary>
      <dl class="fields">
        {MEANINGS.map(([phrase, meaning]) => (
          <>
            <dt id={idOf(phrase)}>{phrase}</dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

function idOf(phrase: Phrase): string {
  return `word-${phrase.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
}
