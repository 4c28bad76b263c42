/** The part of idiomorph that refresh.js uses. Pages load idiomorph by a script tag of its own. */
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
