/* A table as somebody sees it: the others, both piles, the hand. */
"use strict";
(function (Pocket) {
  const { el, cardArt, colorArt, COLORS, spoken } = Pocket;

  /* The faces of a hand: what is open, what is known, and the backs of the rest. */
  function faces(hand) {
    if (hand.cards) return hand.cards;
    return [...hand.known, ...Array(hand.size - hand.known.length).fill("back")];
  }

  function fan(hand, small) {
    const cards = faces(hand);
    const fan = el("div", { class: small ? "fan small" : "fan" });
    fan.style.setProperty("--n", cards.length);
    cards.forEach((card, i) => {
      const known = !hand.cards && card !== "back";
      fan.append(el("span", {
        class: "card" + (known ? " known" : ""), title: known ? `You know of ${spoken(card)}` : null,
      }, cardArt(card, card === "back" && i > 0)));
    });
    return fan;
  }

  function plate(model, seat) {
    const { sight, names } = model;
    const hand = sight.hands[seat], turn = sight.to_act === seat;
    const goal = (model.match ? ` / ${model.goal}` : "") + " points";
    return el("div", { class: "plate" + (turn ? " turn" : "") },
      el("span", { class: "name" }, names[seat]),
      seat === sight.dealer ? el("span", { class: "dealer", title: "deals this round" }, "D") : null,
      el("span", { class: "count", title: `${hand.size} cards` }, `${hand.size}`,
        el("span", { class: "unseen" }, hand.size === 1 ? " card" : " cards")),
      el("span", { class: "score" }, sight.scores[seat], el("span", { class: "goal" }, goal)),
      model.chances ? el("span", { class: "chance", title: "chance to win the match, at these scores" },
        `${Math.round(100 * model.chances[seat])} %`, el("span", { class: "unseen" }, " to win the match")) : null,
      turn ? el("span", { class: "unseen" }, "to act") : null);
  }

  /* model: sight, names, match, goal; chances, to win the match, or null; viewer, the seat at the
     bottom; hand(card, i), what shows one of its cards, and pile, what the draw pile is. */
  function table(model) {
    const { sight } = model, seats = sight.hands.length, viewer = model.viewer || 0;
    const others = el("div", { class: `others of-${Math.min(seats - 1, 5)}` });
    for (let i = 1; i < seats; i++) {
      const seat = (viewer + i) % seats;
      others.append(el("section", { class: "seat", "aria-label": model.names[seat] },
        plate(model, seat), fan(sight.hands[seat], true), model.note ? model.note(seat) : null));
    }
    const color = sight.active_color;
    const pileInner = [cardArt("back", true), el("span", { class: "pile-count" }, `${sight.draw_pile}`,
      el("span", { class: "unseen" }, " cards in the draw pile"))];
    const pile = model.pile ? model.pile(pileInner) : el("div", { class: "pile" }, pileInner);
    const clockwise = sight.direction === 1;
    const middle = el("div", { class: "middle" },
      el("div", { class: "direction" + (clockwise ? "" : " back"), title: clockwise ? "clockwise" : "counter-clockwise" },
        el("span", { "aria-hidden": "true" }, clockwise ? "↻" : "↺"),
        el("small", {}, clockwise ? "clockwise" : "counter-clockwise")),
      pile,
      el("div", { class: `discard color-${color || "none"}` }, cardArt(sight.top)),
      el("div", { class: "active" }, color ? [colorArt(color), el("strong", {}, COLORS[color])] : "no colour yet",
        el("small", {}, `${sight.discard_pile.length} discarded`)));
    const own = el("section", { class: "own", "aria-label": "hand at the bottom" }, plate(model, viewer));
    const hand = el("div", { class: "hand" });
    const cards = faces(sight.hands[viewer]);
    hand.style.setProperty("--n", Math.max(cards.length, 2)); // there is a gap to divide by
    cards.forEach((card, i) => hand.append(
      model.hand ? model.hand(card, i) : el("span", { class: "card" }, cardArt(card))));
    own.append(hand);
    return el("div", { class: "table" }, others, middle, own);
  }

  /* The sentences of events, those from `since` on marked as new. */
  function log(events, since) {
    return el("ol", { class: "log" }, events.map((event, i) =>
      el("li", { class: i >= since ? "new" : "" }, Pocket.withCards(event.text))));
  }

  const percent = (x) => (x === null || x === undefined ? "" : `${(100 * x).toFixed(1)} %`);

  /* What an agent makes of a decision (agents/analysis.py). */
  function opinion(found, names, played, brief) {
    const some = (name) => found.actions.some((entry) => entry[name] !== null);
    const columns = [["probability", "plays it"], ["value", found.match ? "round" : "wins"], ["match", "match"]].filter(([name]) => some(name));
    const barred = columns.length < 3; // there is no room beside three figures
    const rows = found.actions.slice(0, 12).map((entry) => {
      const bar = el("span", { class: "bar" });
      bar.style.width = `${Math.round(100 * (entry.match ?? entry.value ?? entry.probability ?? 0))}%`;
      return el("tr", { class: (entry.action === found.choice ? "best" : "") + (entry.action === played ? " played" : "") },
        el("th", { scope: "row" }, actionText(entry.action, true), entry.action === found.choice ? " ✓" : ""),
        columns.map(([name]) => el("td", {}, percent(entry[name]))),
        barred ? el("td", { class: "bars", "aria-hidden": "true" }, bar) : null);
    });
    const more = found.actions.length - rows.length;
    return el("div", { class: "opinion" },
      el("p", {}, el("strong", {}, found.agent), " would ", el("b", {}, actionText(found.choice)), "."),
      columns.length ? el("table", {},
        el("thead", {}, el("tr", {}, el("th", {}, "action"), columns.map(([, title]) => el("th", {}, title)), barred ? el("th", {}) : null)),
        el("tbody", {}, rows)) : null,
      columns.length && more > 0 ? el("p", { class: "quiet" }, `and ${more} more`) : null,
      found.value !== null ? el("p", {}, "Chance to win this round: ", el("b", {}, percent(found.value))) : null,
      found.match ? el("p", {}, "To win the match: ", found.match.map((chance, i) =>
        [i ? ", " : "", `${names[i]} `, el("b", {}, percent(chance))])) : null,
      el("p", { class: "quiet" }, found.about),
      (brief ? [] : [...found.holdings]).sort((a, b) => a.own - b.own).map((held) => el("details", { open: found.holdings.length < 4 && !held.own },
        el("summary", {}, held.own ? `What the others may think of ${names[held.seat] === "You" ? "your" : `${names[held.seat]}’s`} hand`
          : `What ${names[held.seat]} may hold`),
        held.known.length ? el("p", {}, "Known: ", held.known.map((card) => [Pocket.chip(card), " "])) : null,
        el("ul", { class: "holdings" }, held.colors.map(([color, chance]) =>
          el("li", {}, color === "W" ? Pocket.chip("W") : [colorArt(color), ` ${COLORS[color]}`], ` ${Math.round(100 * chance)} %`))),
        el("ul", { class: "holdings quiet" }, held.likely.map(([card, chance]) =>
          el("li", {}, Pocket.chip(card), ` ${Math.round(100 * chance)} %`))))));
  }

  /* An action in words and signs; brief leaves a colour to its shape, for those who see it. */
  function actionText(action, brief) {
    const [, verb, card, color] = /^(\w+)(?: ([^:]*))?(?::(.))?$/.exec(action) || [];
    if (verb === "play" || verb === "give") {
      return el("span", {}, `${verb} `, Pocket.chip(card), color
        ? [" ", colorArt(color), el("span", { class: brief ? "unseen" : "" }, ` ${COLORS[color]}`)] : "");
    }
    return verb === "name" && COLORS[card] ? `name ${COLORS[card]}` : action;
  }

  Object.assign(Pocket, { table, log, percent, opinion, actionText });
})(window.Pocket);
