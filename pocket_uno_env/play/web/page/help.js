/* The rules in a nutshell and the keys, in a dialog. */
"use strict";
(function (Pocket) {
  const { el, cardArt } = Pocket;
  const CARDS = [
    ["S", "G", "The next player is skipped."],
    ["V", "B", "The direction turns. With two players, you move again."],
    ["+1", "R", "The next player draws a card and is skipped."],
    ["+2", "Y", "The next player draws two cards and is skipped."],
    ["W", "", "A wild goes on everything. You name the colour."],
    ["WD", "", "Wild dip: you also draw a card, and give any card of your hand to the next player."],
    ["W+2", "", "Wild draw two: the next player draws two cards and is skipped, or challenges."],
    ["W+4", "", "Wild draw four: the next player draws four and is skipped. Only if nothing else fits."],
  ];
  const KEYS = [
    ["← →", "walk through the cards that can be played"], ["Enter", "play the card"], ["r b g y", "name a colour"],
    ["d k", "draw, keep"], ["u s", "say UNO, stay silent"], ["c l", "catch or challenge, let go"], ["a", "accept"],
    ["n", "next round"], ["i", "analysis"], ["?", "this help"],
  ];

  /* Opens the dialog for rules as the server describes them. */
  function help(rules) {
    const names = new Set(rules.kinds.map(([name]) => name));
    const here = CARDS.filter(([symbol, color]) => names.has(color + symbol));
    const close = () => dialog.close();
    const dialog = el("dialog", { class: "help", "aria-label": "help", onclose: () => dialog.remove(), onclick: (e) => { if (e.target === dialog) close(); } },
      el("div", {},
        el("h1", {}, "How to play"),
        el("p", {}, "Get rid of your cards. On your turn play a card of the active colour, or with the number or sign of the top card, "
          + "or a wild. Or draw a card, which you may always do; if it can be played, you may play it at once. "
          + `The first empty hand wins the round and scores what the others hold: numbers count as they are, signs 20, wilds 50. ${rules.match_goal} points win a match. `
          + "In a match, the percentage beside the points is the chance to win it at these scores."),
        el("p", {}, el("b", {}, "UNO: "), "with one card left you say it, or the others may catch you, and you draw two. When somebody stays silent, you are asked, too."),
        names.has("W+2") ? el("p", {}, el("b", {}, "Challenge: "), "whoever plays a wild draw two should have had nothing else to play. If you doubt it, challenge: "
          + "if you are right, they draw the two cards and you play; if not, you draw four. You alone see their hand.") : null,
        el("ul", { class: "signs" }, here.map(([symbol, color, text]) => el("li", {}, el("span", { class: "card tiny" }, cardArt(color + symbol, true)), text))),
        el("h2", {}, "Keys"),
        el("dl", { class: "keys" }, KEYS.map(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])),
        el("button", { type: "button", class: "go", onclick: close }, "Back to the game")));
    document.body.append(dialog);
    dialog.showModal();
  }

  Object.assign(Pocket, { help });
})(window.Pocket);
