// Gives the page the colours that its reader has chosen, before anything is drawn.

{
  const [, theme] = /(?:^|; )theme=(light|dark)(?:;|$)/.exec(document.cookie) ?? [];
  if (theme !== undefined) document.documentElement.dataset["theme"] = theme;
}
