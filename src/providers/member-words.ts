/**
 * Words in the names of an answer's members by which the outputs of a job are distinguished from its other members.
 * Vendors spell the same name in many ways: `coverImageURL`, `cover_image_url`.
 */

/** Words with which vendors name a picture or clip that only previews an output. */
const PREVIEW =
  /^(?:image|img|photo|pic|video)?(?:cover|placeholder|poster|preview|thumb(?:nail)?)s?(?:frame|gif|image|img|link|photo|pic|uri|url|video)*s?$/;
/**
 * Words in the name or the `kind` of a member which show that the member is no output: it repeats the request, is about
 * the job or a person, or is a web page.
 */
const NO_OUTPUT_WORDS: ReadonlySet<string> = new Set(
  [
    // The request, and files that it names.
    "arg args argument arguments init input inputs kwargs param parameter parameters params parent",
    "prompt prompts reference references request requests",
    // Calls about the job.
    "callback callbacks cancel delete poll polling webhook webhooks",
    // Reasons and pages.
    "dashboard docs documentation error errors help homepage license licenses log logs permalink share terms warning",
    "warnings website",
    // Persons.
    "author creator owner user",
  ].flatMap((line) => line.split(" ")),
);

/**
 * Tells whether a word in the name of a member means that the member is a picture or clip which only previews an
 * output.
 */
export function isPreviewWord(word: string): boolean {
  return PREVIEW.test(word);
}

/**
 * Tells whether a word in the name of a member means that the member is no output: it repeats the request, or is about
 * the job or a person.
 */
export function isNoOutputWord(word: string): boolean {
  return NO_OUTPUT_WORDS.has(word);
}

/**
 * Returns the words of a name in lower case, e.g. `cover`, `image` and `url` for `coverImageURL` and for
 * `cover_image_url`.
 */
export function wordsOf(name: string): readonly string[] {
  return (
    name
      .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
      // Two small letters, because the plural of an abbreviation is one word: `imageURLs`.
      .replaceAll(/([A-Z])([A-Z][a-z]{2})/g, "$1 $2")
      .toLowerCase()
      .split(/[\s_.:/-]+/)
      .filter((word) => word !== "")
      .join(" ")
      .replaceAll(/\b(call|web) (back|hook)\b/g, "$1$2")
      .split(" ")
  );
}
