/** The part of the library idiomorph that refresh.js uses. Pages load the library by a separate script tag. */
declare const Idiomorph: {
  morph(
    old: Element,
    fresh: Element,
    options: {
      readonly ignoreActiveValue: boolean;
      readonly callbacks: {
        readonly beforeAttributeUpdated: (name: string, node: Element, type: string) => boolean;
      };
    },
  ): unknown;
};
